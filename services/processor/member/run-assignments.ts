/**
 * A member's life after it has joined: one assignment after the other, and what follows when the work on one is interrupted
 * (decision 019).
 *
 *   running ─ an error that may pass ─▶ start over, go on from the committed offsets ─▶ running       running ◀──▶ paused
 *   running ─ too many records fail ─▶ held back (paused)      any ─ stop() ─▶ stopped      any ─ fenced ─▶ taken over
 *   any ─ refused config or record, quarantine, lost position ─▶ failed      a job ─ at its end ─▶ finished
 *   other partitions, or a sink that changed ─▶ broken: the runner starts the task again
 */
import type { Assignment } from '../../../shared/kafka/membership.ts'
import { reasonOf } from '../../../shared/errors/reason-of.ts'
import { interruptionOf, isPassing } from '../interruption.ts'
import type { Member } from './member.ts'
import type { TaskEnd } from './task-view.ts'

export type Work = {
  /** Something is to be prepared even while nothing is assigned. */
  isPreparing(): boolean
  /** Called before each assignment, with nothing under way. */
  prepare(): Promise<void>
  /** Works on one assignment until it is void, the member pauses or stops. True when the work is done for good. */
  run(owned: Assignment): Promise<boolean>
  /** Makes sure that nothing of an interrupted transaction can count. Throws while that fails: it is called again. */
  startOver(): Promise<void>
  /** Grows with every commit: an interruption after progress starts the backoff anew. */
  recordsDone(): number
  /** A partition that was to be written to has no leader. */
  onTargetAway?(topic: string, partition: number): void
}

/** `failuresMax`: failures in a row that no broker, sink or source explains, before the pipeline is failed with their cause. */
export type Patience = { minMs: number; maxMs: number; failuresMax: number }

const RUN_AGAIN_AFTER_MS = 20
const SHOWN_FROM_MS = 500

/**
 * Resolves with how the task ends. Rejects with what `prepare` throws, and where another member has taken over while it starts over:
 * `endOf` says how the task ends then. Any other failure to start over is tried again after the backoff.
 */
export async function runAssignments(
  member: Member,
  work: Work,
  patience: Patience,
  log: (level: 'warn', message: string) => void,
): Promise<TaskEnd> {
  let backoffMs = patience.minMs
  let failures = 0
  let mustStartOver = false
  while (!member.isStopping) {
    member.forgetWakes()
    // While it can't start over it goes on showing why.
    if (!mustStartOver || member.isResting()) member.become(member.isResting() ? 'paused' : 'running', member.heldBack ?? null)
    await member.waitUntil(() => member.isStopping || work.isPreparing() || (member.assignment !== undefined && !member.isResting()))
    if (member.isStopping) break
    await work.prepare()
    const owned = member.assignment
    if (!owned || member.isResting()) continue
    const before = work.recordsDone()
    try {
      if (mustStartOver) await work.startOver()
      mustStartOver = false
      member.become('running')
      if (await work.run(owned)) return { kind: 'finished' }
      backoffMs = patience.minMs
      failures = 0
    } catch (error) {
      if (work.recordsDone() > before) [backoffMs, failures] = [patience.minMs, 0]
      const interruption = interruptionOf(error)
      const reason = reasonOf(error)
      switch (interruption.kind) {
        case 'taken_over':
        case 'failed':
        case 'sink_refused':
        case 'partitions_changed':
        case 'sink_changed':
          return endOf(error)
        case 'threshold_passed':
          member.holdBack(reason)
          continue
        // Nothing was being written: the round only runs again, after the pause that its policy asks for.
        case 'retry_later':
          // Each change of the reason is reported: a shorter pause would only make it flicker.
          if (interruption.afterMs >= SHOWN_FROM_MS) member.become('running', `retrying: ${reason}`)
          await member.pause(interruption.afterMs)
          continue
        // Nothing was being written here either. The quarantine bounds how many lanes a module can cost.
        case 'round_lost':
          await member.pause(RUN_AGAIN_AFTER_MS)
          continue
        case 'sink_moved':
          member.become('running', `retrying: ${reason}`)
          await backOff(RUN_AGAIN_AFTER_MS)
          continue
        case 'sink_away':
          // The task's own backoff applies unless the sink asks for a longer one.
          member.become('running', `retrying: ${reason}`)
          await backOff(Math.max(backoffMs, interruption.afterMs))
          continue
        case 'source_away':
          member.become('running', `retrying: ${reason}`)
          await backOff()
          continue
        case 'partitions_aside':
        case 'unknown':
          if (interruption.kind === 'partitions_aside' && interruption.isRetriable) break
          if (++failures >= patience.failuresMax)
            return { kind: 'failed', reason: `gave up after ${patience.failuresMax} attempts: ${reason}` }
          break
        case 'assignment_lost':
          member.dropAssignment(owned)
          break
        case 'transaction_broken':
          if (interruption.away) work.onTargetAway?.(interruption.away.topic, interruption.away.partition)
          break
        case 'brokers_away':
        case 'revision_behind':
          break
        default:
          interruption satisfies never
      }
      member.become('running', `retrying: ${reason}`)
      log('warn', `round dropped, reading again from the committed offsets: ${reason}`)
      // At once, so that a transaction that was left open ends; where it fails, it is tried again after the backoff.
      mustStartOver = await work.startOver().then(
        () => false,
        (cause: unknown) => {
          if (interruptionOf(cause).kind === 'taken_over') throw cause
          log('warn', `can't start over yet: ${reasonOf(cause)}`)
          return true
        },
      )
      await backOff()
    }
  }
  return { kind: 'stopped' }

  async function backOff(ms = backoffMs): Promise<void> {
    await member.pause(ms)
    backoffMs = Math.min(backoffMs * 2, patience.maxMs)
  }
}

/** How a task ends that can't go on by itself. */
export function endOf(error: unknown): TaskEnd {
  const interruption = interruptionOf(error)
  const reason = reasonOf(error)
  switch (interruption.kind) {
    case 'taken_over':
      return { kind: 'taken_over' }
    case 'failed':
      return { kind: 'failed', reason, ...(interruption.quarantined ? { quarantined: interruption.quarantined } : {}) }
    case 'sink_refused':
      return { kind: 'failed', reason }
    default:
      return { kind: 'broken', reason, isPassing: isPassing(interruption) }
  }
}
