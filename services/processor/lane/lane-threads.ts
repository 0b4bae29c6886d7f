/** The threads of a processor's lanes: started, replaced and ended here; which chain runs in which of them. */
import { Worker } from 'node:worker_threads'
import { callWatchOver, WATCH_BYTES } from '../../../shared/smartmodule/host/call-watch.ts'
import type { Lane, Registered } from './lane-record.ts'
import type { FromLane, LaneData, ToLane } from './messages.ts'
import { stepBack } from './priority.ts'

export type LaneThreadsOptions = {
  kernel: WebAssembly.Module
  count: number
  onMessage(lane: Lane, message: FromLane): void
  onCrash(lane: Lane, error: Error): void
}

export type LaneThreads = ReturnType<typeof startLaneThreads>

/** True for a lane with only slow chains, or none. */
export const isOnlySlow = (lane: Lane): boolean => [...lane.chains.values()].every(({ isSlow }) => isSlow)

export function post(lane: Lane, message: ToLane, transfer: ArrayBuffer[] = []): void {
  lane.worker.postMessage(message, transfer)
}

export function startLaneThreads({ kernel, count, onMessage, onCrash }: LaneThreadsOptions) {
  const lanes: Lane[] = Array.from({ length: count }, start)
  /** Started and idle: a thread takes most of a second to start, and no chain should wait for that. */
  let spare = start()

  function start(): Lane {
    const shared = new SharedArrayBuffer(WATCH_BYTES)
    const data: LaneData = { kernel, watch: shared }
    const worker = new Worker(new URL('./lane.ts', import.meta.url), { workerData: data, name: 'lane' })
    const lane: Lane = {
      worker,
      threadId: undefined,
      isBack: false,
      watch: callWatchOver(shared),
      seen: 0,
      ticks: 0,
      cpuAtFirst: undefined,
      turnTicks: 0,
      chains: new Map(),
      jobs: [],
      closed: false,
    }
    worker.on('message', (message: FromLane) => {
      if (!lane.closed) onMessage(lane, message)
    })
    worker.on('error', (error) => onCrash(lane, error))
    return lane
  }

  function end(lane: Lane): void {
    lane.closed = true
    void lane.worker.terminate()
  }

  /** Takes the spare lane into use with these chains and starts the next spare. */
  function take(chains: Map<number, Registered>): Lane {
    const lane = spare
    spare = start()
    lane.chains = chains
    if (chains.size > 0 && isOnlySlow(lane)) holdBack(lane)
    for (const chain of chains.values()) post(lane, { type: 'open', chainId: chain.id, chain: chain.spec })
    return lane
  }

  /** From now on all other threads on the machine come first, including those of brokers running on it. */
  function holdBack(lane: Lane): void {
    if (lane.isBack) return
    lane.isBack = true
    if (lane.threadId !== undefined) stepBack(lane.threadId)
  }

  return {
    all: (): readonly Lane[] => lanes,
    laneOf: (chain: Registered): Lane | undefined => lanes.find(({ chains }) => chains.has(chain.id)),
    holdBack,
    /** The lane's thread is up, and has this id. */
    onReady(lane: Lane, threadId: number): void {
      lane.threadId = threadId
      if (lane.isBack) stepBack(threadId)
    },
    /** One lane more than before. */
    add(): Lane {
      const lane = take(new Map())
      lanes.push(lane)
      return lane
    },
    /** Ends a lane and puts the spare one in its place, with these chains. */
    replace(lane: Lane, chains: Map<number, Registered>): void {
      end(lane)
      lanes[lanes.indexOf(lane)] = take(chains)
    },
    /** Ends a lane beyond the configured ones. */
    remove(lane: Lane): void {
      end(lane)
      lanes.splice(lanes.indexOf(lane), 1)
    },
    /** True where the lane was the spare one, which is replaced. */
    replaceSpare(lane: Lane): boolean {
      if (lane !== spare) return false
      end(lane)
      spare = start()
      return true
    },
    async close(): Promise<void> {
      await Promise.all(
        [...lanes, spare].map((lane) => {
          lane.closed = true
          return lane.worker.terminate()
        }),
      )
    },
  }
}
