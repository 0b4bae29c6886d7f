/** A slot for one task on this processor: the task while it runs, and otherwise what became of it. */
import { runOf, type PipelineDefinition } from '../../../shared/model/definition.ts'
import type { ObservedTask } from '../../../shared/model/observed.ts'
import type { TaskId } from '../../../shared/model/task.ts'
import { cutText, REASON_CHARACTERS_MAX } from '../../../shared/model/text.ts'
import type { Measure } from '../../../shared/model/telemetry.ts'
import type { Task, TaskView } from '../member/task-view.ts'

export type Slot = {
  key: string
  definition: PipelineDefinition
  id: TaskId
  /** The last assignment that it was wanted in. */
  assignment: number
  task: Task | undefined
  /** Why no task runs; null when nothing failed. */
  failure: string | null
  /** How the task ended, once it has ended for good. */
  end: 'failed' | 'finished' | undefined
  quarantined: string[]
  isClosing: boolean
  /** Its chain is being prepared. */
  isStarting: boolean
  /** Of `performance.now`, as `failingSince`. */
  retryAt: number
  /** Failed starts in a row whose cause does not pass by itself, and since when starts have failed for any reason. */
  failures: number
  failingSince: number | undefined
  lastView: TaskView | undefined
  recordsBefore: { at: number; done: number; rate: number }
}

export function newSlot(key: string, definition: PipelineDefinition, id: TaskId, assignment: number, nowMs: number): Slot {
  return {
    key,
    definition,
    id,
    assignment,
    task: undefined,
    failure: null,
    end: undefined,
    quarantined: [],
    isClosing: false,
    isStarting: false,
    retryAt: 0,
    failures: 0,
    failingSince: undefined,
    lastView: undefined,
    recordsBefore: { at: nowMs, done: 0, rate: 0 },
  }
}

/** Records per second over the last interval of at least two seconds. */
function rateOf(slot: Slot, done: number, nowMs: number): number {
  const since = nowMs - slot.recordsBefore.at
  if (since >= 2000) slot.recordsBefore = { at: nowMs, done, rate: Math.round(((done - slot.recordsBefore.done) * 1000) / since) }
  return slot.recordsBefore.rate
}

/** The state of the slot's task as reported to the control plane; for a task that has ended, how it ended. `measuresOf`: of a revision. */
export function observe(slot: Slot, measuresOf: (revision: number) => Measure[], processorId: string, nowMs: number): ObservedTask {
  const view = slot.task?.view() ?? slot.lastView
  const revision = view?.revision ?? slot.definition.revision
  const reason = slot.failure ?? view?.reason ?? null
  return {
    ...runOf(slot.definition),
    ...slot.id,
    processor_id: processorId,
    revision,
    attempt: slot.definition.attempt,
    status: slot.end ?? slot.task?.view().status ?? (slot.definition.desired === 'paused' ? 'paused' : 'starting'),
    reason: reason === null ? null : cutText(reason, REASON_CHARACTERS_MAX),
    at: new Date(nowMs).toISOString(),
    records_per_second: rateOf(slot, view?.recordsDone ?? 0, nowMs),
    in_flight: slot.task ? (view?.inFlight ?? 0) : 0,
    held_back: slot.task !== undefined && (view?.heldBack ?? false),
    quarantined: slot.quarantined,
    measures: measuresOf(revision),
    partitions: (view?.partitions ?? []).map(({ partition, position, end, steps, totals }) => ({
      partition,
      position: String(position),
      end: String(end),
      lag: String(end > position ? end - position : 0n),
      steps,
      totals,
    })),
  }
}
