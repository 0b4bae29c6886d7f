/**
 * Watches the calls into SmartModules. Past the soft deadline the lane's other chains move to another lane at once, and the slow one keeps
 * this lane to itself. Past the hard deadline the lane is ended and replaced, and the task runs the round again, with the call that hung
 * cut into parts.
 */
import { callUnderWay, isWaiting } from '../../../shared/smartmodule/host/call-watch.ts'
import { Interrupted } from '../interruption.ts'
import type { Lane, Registered } from './lane-record.ts'
import { isOnlySlow, post, type LaneThreads } from './lane-threads.ts'
import { quarantinedBy } from './quarantine.ts'
import { threadCpuMs, workedMs } from './thread-time.ts'
import type { Turns } from './turns.ts'

export type WatchdogOptions = {
  threads: LaneThreads
  turns: Turns
  /** Configured lanes, without those added for slow chains. */
  count: number
  callTimeoutMs: number
  /** Ends a lane whose call is over its deadline. */
  lose(lane: Lane, reason: string): void
}

const WATCH_INTERVAL_MS = 25
/** So long it goes on with nothing to watch, because the next round mostly comes soon. */
const IDLE_TICKS = 40
/** For one call. With a spare lane ready, the other chains stand still for about a tenth of a second, once. */
const SOFT_DEADLINE_MS = 75
/** For one call; past it, the lane steps back behind everything else on the machine. */
const STEP_BACK_MS = 150
/** For one turn, whose calls may all be short: a module that traps on every record is slow too. */
const SLOW_TURN_MS = 200
/** Deadlines while a call that hung is being cut apart: of a part with several records, and of one alone. */
const SEARCH_DEADLINE_MS = 250
const SEARCH_LAST_DEADLINE_MS = 1000
/** Lanes beyond the configured ones, for slow chains; past that, fast chains stay with the slow one. */
const LANES_APART_MAX = 4

type Call = NonNullable<ReturnType<typeof callUnderWay>>

const isStuck = (lane: Lane): boolean => lane.ticks * WATCH_INTERVAL_MS >= SOFT_DEADLINE_MS
const hasSlow = (lane: Lane): boolean => [...lane.chains.values()].some(({ isSlow }) => isSlow)

/** The least loaded lane; one that hangs or has a slow chain only when there is no other. */
export function leastLoaded(lanes: readonly Lane[]): Lane {
  const cost = (lane: Lane) => lane.chains.size + (isStuck(lane) || hasSlow(lane) || lane.hasSteppedBack ? 1e6 : 0)
  return lanes.toSorted((a, b) => cost(a) - cost(b))[0]!
}

/** It may be in a call, or come to one. */
const isAtWork = ({ running, opening, watch }: Lane): boolean => running !== undefined || opening > 0 || callUnderWay(watch) !== undefined

/** It looks while lanes are at work: `wake` is called when one of them is sent something. An idle runner is to cost next to nothing. */
export function startWatchdog({ threads, turns, count, callTimeoutMs, lose }: WatchdogOptions): { wake(): void; close(): void } {
  let timer: NodeJS.Timeout | undefined
  let idleTicks = 0
  let isClosed = false

  /** The slow chain keeps its lane; the other chains move to another lane with their waiting rounds. */
  function setApart(lane: Lane, slow: Registered): void {
    slow.isSlow = true
    slow.calm = 0
    const others = [...lane.chains.values()].filter(({ isSlow }) => !isSlow)
    if (others.length === 0) return
    const isFree = (each: Lane) => each !== lane && !hasSlow(each) && !isStuck(each) && !each.hasSteppedBack
    const known = threads.all().find(isFree)
    if (!known && threads.all().length >= count + LANES_APART_MAX) return
    const target = known ?? threads.add()
    for (const chain of others) {
      lane.chains.delete(chain.id)
      post(lane, { type: 'close', chainId: chain.id })
      target.chains.set(chain.id, chain)
      post(target, { type: 'open', chainId: chain.id, chain: chain.spec })
    }
    target.rounds.push(...lane.rounds.filter(({ chain }) => others.includes(chain)))
    lane.rounds = lane.rounds.filter(({ chain }) => !others.includes(chain))
    if (!target.running) turns.next(target)
  }

  function deadlineOf(chain: Registered | undefined, call: Call): number {
    const whole = chain?.spec.steps[call.step]?.timeoutMs ?? callTimeoutMs
    // A step's limit is for its calls; a start on a busy machine may take more than a short one.
    if (call.partition < 0) return Math.max(whole, callTimeoutMs)
    if (!chain?.failureBook.isSearching(call.partition)) return whole
    return Math.min(whole, call.first === call.last ? SEARCH_LAST_DEADLINE_MS : SEARCH_DEADLINE_MS)
  }

  /** Counts ticks and CPU time, and asks no clock: a module must not be blamed for a paused process or an adjusted clock. */
  function watch(lane: Lane): void {
    if (lane.running && ++lane.turnTicks * WATCH_INTERVAL_MS >= SLOW_TURN_MS) setApart(lane, lane.running.chain)
    if (isWaiting(lane.watch)) return
    const call = callUnderWay(lane.watch)
    if (!call || call.number !== lane.seen) {
      lane.seen = call?.number ?? 0
      lane.ticks = 0
      lane.cpuAtFirst = call && threadCpuMs(lane.threadId)
      return
    }
    const tookMs = workedMs(++lane.ticks * WATCH_INTERVAL_MS, lane.cpuAtFirst, threadCpuMs(lane.threadId))
    const chain = lane.chains.get(call.chainId)
    if (tookMs >= SOFT_DEADLINE_MS && chain) setApart(lane, chain)
    if (tookMs >= STEP_BACK_MS && isOnlySlow(lane)) threads.stepBack(lane)
    if (tookMs >= deadlineOf(chain, call)) endCall(lane, chain, call, tookMs)
  }

  function endCall(lane: Lane, chain: Registered | undefined, call: Call, tookMs: number): void {
    const step = chain?.spec.steps[call.step]
    const where = call.partition < 0 ? 'while starting' : `on a batch of partition ${call.partition}`
    const message = `step ${call.step + 1} (${step?.name ?? 'a SmartModule'}) did not return within ${Math.round(tookMs)} ms ${where}`
    if (chain && step) {
      if (call.partition < 0) chain.failure = new Interrupted('failed', message)
      // Of two versions it is not known which one hangs: the new one is blamed.
      else if (chain.quarantine.add((step.canary ?? step).sha256, 1)) chain.failure = quarantinedBy(chain.spec, call.step, message, true)
      else chain.failureBook.addHang(call.partition, call.first, call.last, call.step, message)
    }
    lose(lane, message)
  }

  function look(): void {
    const lanes = [...threads.all()]
    lanes.forEach(watch)
    idleTicks = lanes.some(isAtWork) ? 0 : idleTicks + 1
    if (idleTicks >= IDLE_TICKS) stop()
  }

  function stop(): void {
    clearInterval(timer)
    timer = undefined
  }

  return {
    wake() {
      idleTicks = 0
      if (!isClosed) timer ??= setInterval(look, WATCH_INTERVAL_MS)
    },
    close() {
      isClosed = true
      stop()
    },
  }
}
