/** A task from outside: what it is asked to do, what it shows, how it ends. Tasks that run chains and intakes alike. */
import type { PipelineDefinition } from '../../../shared/model/definition.ts'
import type { Counters } from '../../../shared/model/observed.ts'
import type { LaneChain } from '../lane/messages.ts'

/** Which status may follow which; a task that has ended shows nothing else any more. */
export const TASK_STATUSES = {
  starting: ['running', 'paused', 'stopped', 'failed', 'finished'],
  running: ['starting', 'paused', 'stopped', 'failed', 'finished'],
  paused: ['starting', 'running', 'stopped', 'failed', 'finished'],
  stopped: [],
  failed: [],
  finished: [],
} as const satisfies Record<string, readonly string[]>

export type TaskStatus = keyof typeof TASK_STATUSES
export type TaskEnd =
  | { kind: 'stopped' }
  | { kind: 'taken_over' }
  | { kind: 'finished' }
  | { kind: 'failed'; reason: string; quarantined?: string }
  | { kind: 'broken'; reason: string; isPassing: boolean }

/** The visible state of a task at any moment. */
export type TaskView = {
  status: TaskStatus
  reason: string | null
  revision: number
  heldBack: boolean
  inFlight: number
  partitions: { partition: number; position: bigint; end: bigint; steps: Counters[]; totals: Counters }[]
  recordsDone: number
  /** The task has finished starting. */
  hasRun: boolean
}

export type Task = {
  view(): TaskView
  setPaused(paused: boolean): void
  /** Goes on with another revision of the same pipeline, from the next round on. */
  update(definition: PipelineDefinition, chain: LaneChain): void
  stop(): Promise<void>
  ended: Promise<TaskEnd>
}
