/**
 * The pipeline's status that the API shows, derived from the desired status and the tasks' reports. Pure data and pure functions.
 *
 *   creating ─▶ created ─start▶ starting ─▶ running ─pause▶ pausing ─▶ paused ─resume▶ starting
 *   running, paused ─stop▶ stopping ─▶ stopped ─start▶ starting      a task failed while it ought to run ─▶ failed ─start▶ starting
 *   any but creating ─delete▶ deleting
 *   running ─ too many records fail ─▶ paused      running, paused, failed, stopped ─restart▶ starting
 *   failed ─ all tasks run again ─▶ running
 */
import type { DesiredStatus } from './definition.ts'
import type { ObservedTask } from './observed.ts'
import { isSameTask, type TaskId } from './task.ts'

/** Every status that a pipeline can have. */
export const PIPELINE_STATUSES = [
  'creating',
  'created',
  'starting',
  'running',
  'pausing',
  'paused',
  'stopping',
  'stopped',
  'failed',
  'deleting',
] as const
/** The status of a pipeline. */
export type PipelineStatus = (typeof PIPELINE_STATUSES)[number]

/** The actions that a client may request. */
export const PIPELINE_ACTIONS = ['start', 'pause', 'resume', 'stop', 'restart'] as const
/** An action that a client may request. */
export type PipelineAction = (typeof PIPELINE_ACTIONS)[number]

/** What can happen to a pipeline: a client's action, a step of its creation or deletion, or what its tasks report. */
export const PIPELINE_EVENTS = [
  ...PIPELINE_ACTIONS,
  'delete',
  'update',
  'made',
  'tasks_starting',
  'tasks_running',
  'tasks_paused',
  'tasks_stopped',
  'task_held_back',
  'task_failed',
] as const
/** Something that can happen to a pipeline. */
export type PipelineEvent = (typeof PIPELINE_EVENTS)[number]

/** The next status; `same`: the status does not change; `refused`: the event is not allowed. */
export type Transition = PipelineStatus | 'same' | 'refused'

const REFUSED_TO_CLIENTS = { start: 'refused', pause: 'refused', resume: 'refused', stop: 'refused', restart: 'refused' } as const
const NOTHING_OBSERVED = {
  tasks_starting: 'same',
  tasks_running: 'same',
  tasks_paused: 'same',
  tasks_stopped: 'same',
  task_held_back: 'same',
  task_failed: 'same',
} as const

/** Complete: every status × every event. The docs (docs/specs/pipeline-status.md) show the same table. */
export const TRANSITIONS: Record<PipelineStatus, Record<PipelineEvent, Transition>> = {
  // Its topics might be created after the deletion has removed them.
  creating: { ...REFUSED_TO_CLIENTS, ...NOTHING_OBSERVED, delete: 'refused', update: 'refused', made: 'created' },
  // A task's first report ends `created`; without a start, tasks report only that nothing runs, which changes nothing.
  created: {
    ...NOTHING_OBSERVED,
    start: 'starting',
    pause: 'refused',
    resume: 'refused',
    stop: 'stopped',
    restart: 'refused',
    delete: 'deleting',
    update: 'same',
    made: 'same',
    tasks_starting: 'starting',
    tasks_running: 'running',
    task_held_back: 'paused',
    task_failed: 'failed',
  },
  starting: {
    start: 'same',
    pause: 'pausing',
    resume: 'same',
    stop: 'stopping',
    restart: 'starting',
    delete: 'deleting',
    update: 'same',
    made: 'same',
    tasks_starting: 'same',
    tasks_running: 'running',
    tasks_paused: 'same',
    tasks_stopped: 'same',
    task_held_back: 'paused',
    task_failed: 'failed',
  },
  running: {
    start: 'same',
    pause: 'pausing',
    resume: 'same',
    stop: 'stopping',
    restart: 'starting',
    delete: 'deleting',
    update: 'same',
    made: 'same',
    tasks_starting: 'starting',
    tasks_running: 'same',
    tasks_paused: 'starting',
    tasks_stopped: 'starting',
    task_held_back: 'paused',
    task_failed: 'failed',
  },
  pausing: {
    start: 'refused',
    pause: 'same',
    resume: 'starting',
    stop: 'stopping',
    restart: 'refused',
    delete: 'deleting',
    update: 'same',
    made: 'same',
    tasks_starting: 'same',
    tasks_running: 'same',
    tasks_paused: 'paused',
    tasks_stopped: 'same',
    task_held_back: 'paused',
    task_failed: 'failed',
  },
  paused: {
    start: 'refused',
    pause: 'same',
    resume: 'starting',
    stop: 'stopping',
    restart: 'starting',
    delete: 'deleting',
    update: 'same',
    made: 'same',
    tasks_starting: 'pausing',
    tasks_running: 'pausing',
    tasks_paused: 'same',
    tasks_stopped: 'pausing',
    task_held_back: 'same',
    task_failed: 'failed',
  },
  stopping: {
    start: 'refused',
    pause: 'refused',
    resume: 'refused',
    stop: 'same',
    restart: 'refused',
    delete: 'deleting',
    update: 'same',
    made: 'same',
    tasks_starting: 'same',
    tasks_running: 'same',
    tasks_paused: 'same',
    tasks_stopped: 'stopped',
    task_held_back: 'same',
    task_failed: 'stopped',
  },
  stopped: {
    ...NOTHING_OBSERVED,
    start: 'starting',
    pause: 'refused',
    resume: 'refused',
    stop: 'same',
    restart: 'starting',
    delete: 'deleting',
    update: 'same',
    made: 'same',
  },
  failed: {
    ...NOTHING_OBSERVED,
    // A processor that starts tries failed tasks again. Where all of them run, the cause is gone.
    tasks_running: 'running',
    start: 'starting',
    pause: 'refused',
    resume: 'refused',
    stop: 'stopped',
    restart: 'starting',
    delete: 'deleting',
    update: 'same',
    made: 'same',
  },
  deleting: {
    ...REFUSED_TO_CLIENTS,
    ...NOTHING_OBSERVED,
    delete: 'same',
    update: 'refused',
    made: 'same',
  },
}

/** What an event does to a pipeline with this status. */
export function transition(status: PipelineStatus, event: PipelineEvent): Transition {
  return TRANSITIONS[status][event]
}

/**
 * The status that an action meets. A pipeline that was created to run may run before its first report arrives: to its owner it is starting,
 * and a stop waits until its tasks have stopped.
 */
export const statusForActions = ({ status, desired }: { status: PipelineStatus; desired: DesiredStatus }): PipelineStatus =>
  status === 'created' && desired === 'running' ? 'starting' : status

/** The desired status after each action. */
export const DESIRED_AFTER: Record<PipelineAction, DesiredStatus> = {
  start: 'running',
  pause: 'paused',
  resume: 'running',
  stop: 'stopped',
  restart: 'running',
}

/** The reason of an intake task whose part of the source is done. */
export const READ_TO_END = 'the source has been read to its end'

/** What a task's report contributes to the pipeline's status. */
export type Observation = Pick<ObservedTask, 'role' | 'task' | 'status' | 'reason' | 'attempt' | 'held_back'>

/**
 * The event and the reason that the reports of a pipeline's tasks add up to. Reports of another attempt, or of tasks that are no longer
 * wanted, don't count; reports of an older revision do, because a task keeps running it until it swaps.
 */
export function eventFrom(
  desired: DesiredStatus,
  tasks: readonly TaskId[],
  observations: Observation[],
  attempt: number,
): { event: PipelineEvent; reason: string | null } {
  const known = observations.filter((each) => each.attempt === attempt && tasks.some((task) => isSameTask(task, each)))
  const all = (...statuses: Observation['status'][]) =>
    known.length >= tasks.length && known.every(({ status }) => statuses.includes(status))
  if (desired === 'stopped') return { event: all('stopped', 'failed') ? 'tasks_stopped' : 'tasks_starting', reason: null }
  const failed = known.find(({ status }) => status === 'failed')
  if (failed) return { event: 'task_failed', reason: failed.reason }
  const held = known.find(({ held_back }) => held_back)
  if (held) return { event: 'task_held_back', reason: held.reason }
  const reason = known.find((each) => each.reason !== null && each.reason !== READ_TO_END)?.reason ?? endOfSource(tasks, known)
  if (all('running')) return { event: 'tasks_running', reason }
  if (all('paused')) return { event: 'tasks_paused', reason }
  return { event: all('stopped') ? 'tasks_stopped' : 'tasks_starting', reason }
}

/** The source has been read to its end where each intake task says so of its part: one of them may have no part at all. */
function endOfSource(tasks: readonly TaskId[], known: readonly Observation[]): string | null {
  const intakes = tasks.filter(({ role }) => role === 'intake')
  const ended = known.filter(({ reason }) => reason === READ_TO_END)
  return intakes.length > 0 && ended.length >= intakes.length ? READ_TO_END : null
}

/** The status that follows from the tasks' reports; undefined if they have no effect on the current status. */
export function statusFrom(
  desired: DesiredStatus,
  tasks: readonly TaskId[],
  current: PipelineStatus,
  observations: Observation[],
  attempt: number,
): { status: PipelineStatus; reason: string | null; event: PipelineEvent } | undefined {
  if (current === 'creating' || current === 'deleting' || (current === 'created' && desired !== 'running')) return undefined
  const { event, reason } = eventFrom(desired, tasks, observations, attempt)
  const next = transition(current, event)
  if (next === 'refused') return undefined
  return { status: next === 'same' ? current : next, reason, event }
}

/** What gives these statuses their reason. Tasks that have started again since have forgotten it. */
const REASON_GIVEN_BY: Partial<Record<PipelineStatus, PipelineEvent>> = { paused: 'task_held_back', failed: 'task_failed' }

/** Whether the pipeline keeps the reason that it has: its status stays, and the reports say nothing of why it has it. */
export function keepsReason(current: PipelineStatus, next: { status: PipelineStatus; event: PipelineEvent }): boolean {
  const giver = REASON_GIVEN_BY[current]
  return giver !== undefined && next.status === current && next.event !== giver
}
