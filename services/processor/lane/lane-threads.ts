/** The threads of a runner's lanes: started, replaced and ended here; which chain runs in which of them. */
import { Worker } from 'node:worker_threads'
import { callWatchOver, WATCH_BYTES } from '../../../shared/smartmodule/host/call-watch.ts'
import type { Lane, Registered } from './lane-record.ts'
import type { FromLane, LaneData, ToLane } from './messages.ts'
import { lowerPriority } from './priority.ts'
import { LANE_NOTES, writeNote } from '../channel/notes.ts'

export type LaneThreadsOptions = {
  kernel: WebAssembly.Module
  count: number
  onMessage(lane: Lane, message: FromLane): void
  onCrash(lane: Lane, error: Error): void
  /** A lane is sent a message. */
  onPost(): void
  /** File of the runner's notes; undefined where none are kept. */
  notesFd?: number
  /** A thread that was ended goes on: it is in a call that V8 can't interrupt. */
  onStuck(): void
}

export type LaneThreads = ReturnType<typeof startLaneThreads>

/** V8 interrupts most code at once; bulk operations on memories and tables, and compiling, it does not interrupt at all. */
const STUCK_MS = 5000
/** The same for a thread of the lowest priority, which may wait long on a busy machine. */
const STUCK_SLOW_MS = 30_000

/** True for a lane with only slow chains, or none. */
export const isOnlySlow = (lane: Lane): boolean => [...lane.chains.values()].every(({ isSlow }) => isSlow)

export function post(lane: Lane, message: ToLane, transfer: ArrayBuffer[] = []): void {
  if (message.type === 'open') lane.opening++
  lane.onPost()
  lane.worker.postMessage(message, transfer)
}

export function startLaneThreads({ kernel, count, onMessage, onCrash, onPost, notesFd, onStuck }: LaneThreadsOptions) {
  const freeNotes = Array.from({ length: LANE_NOTES }, (_, index) => index)
  /** One until there is work: each costs an idle runner some 15 MiB. */
  const lanes: Lane[] = [start()]
  /** Started and idle, once there is work at all: no chain should wait for a thread to start, and no idle runner should pay for one. */
  let spare: Lane | undefined

  function start(): Lane {
    const shared = new SharedArrayBuffer(WATCH_BYTES)
    const index = freeNotes.shift()
    const notes = notesFd === undefined || index === undefined ? undefined : { fd: notesFd, index }
    const data: LaneData = { kernel, watch: shared, notes }
    const worker = new Worker(new URL('./lane.ts', import.meta.url), { workerData: data, name: 'lane' })
    const lane: Lane = {
      worker,
      threadId: undefined,
      hasSteppedBack: false,
      watch: callWatchOver(shared),
      seen: 0,
      ticks: 0,
      cpuAtFirst: undefined,
      turnTicks: 0,
      chains: new Map(),
      opening: 0,
      onPost,
      rounds: [],
      closed: false,
    }
    worker.on('message', (message: FromLane) => {
      if (!lane.closed) onMessage(lane, message)
    })
    worker.on('error', (error) => onCrash(lane, error))
    worker.once('exit', () => {
      // A thread that is gone is at work on nothing.
      if (notes) writeNote(notes.fd, notes.index, undefined)
      if (index !== undefined) freeNotes.push(index)
    })
    return lane
  }

  function end(lane: Lane): void {
    lane.closed = true
    const timer = setTimeout(onStuck, lane.hasSteppedBack ? STUCK_SLOW_MS : STUCK_MS)
    timer.unref()
    void lane.worker.terminate().finally(() => clearTimeout(timer))
  }

  /** Takes the spare lane into use with these chains and starts the next spare. */
  function take(chains: Map<number, Registered>): Lane {
    const lane = spare ?? start()
    spare = start()
    lane.chains = chains
    if (chains.size > 0 && isOnlySlow(lane)) stepBack(lane)
    for (const chain of chains.values()) post(lane, { type: 'open', chainId: chain.id, chain: chain.spec })
    return lane
  }

  /** From now on all other threads on the machine come first, including those of brokers running on it. */
  function stepBack(lane: Lane): void {
    if (lane.hasSteppedBack) return
    lane.hasSteppedBack = true
    if (lane.threadId !== undefined) lowerPriority(lane.threadId)
  }

  return {
    all: (): readonly Lane[] => lanes,
    laneOf: (chain: Registered): Lane | undefined => lanes.find(({ chains }) => chains.has(chain.id)),
    stepBack,
    /** The lane's thread is up, and has this id. */
    onReady(lane: Lane, threadId: number): void {
      lane.threadId = threadId
      if (lane.hasSteppedBack) lowerPriority(threadId)
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
    /** There is work: all lanes run. */
    fill(): void {
      while (lanes.length < count) lanes.push(start())
    },
    /** From now on a spare lane waits. */
    prepare(): void {
      spare ??= start()
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
        [...lanes, ...(spare ? [spare] : [])].map((lane) => {
          lane.closed = true
          return lane.worker.terminate()
        }),
      )
    },
  }
}
