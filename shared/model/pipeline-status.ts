/**
 * The pipeline's status: what the API shows, from what is wanted and what the tasks report. Pure.
 *
 *   creating ─▶ created ─start▶ starting ─▶ running ─pause▶ pausing ─▶ paused ─resume▶ starting
 *   running, paused ─stop▶ stopping ─▶ stopped ─start▶ starting      any task failed ─▶ failed ─start▶ starting      any ─delete▶ deleting
 */
import type { DesiredStatus, ObservedTask } from './definition.ts'

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
export type PipelineStatus = (typeof PIPELINE_STATUSES)[number]

export const PIPELINE_ACTIONS = ['start', 'pause', 'resume', 'stop'] as const
export type PipelineAction = (typeof PIPELINE_ACTIONS)[number]

/** What an action makes of a status: the next one, `same` when it is already in effect, undefined when it is not possible. */
type Transition = PipelineStatus | 'same' | undefined
const ACTIONS: Record<PipelineAction, Record<PipelineStatus, Transition>> = {
  start: {
    creating: undefined,
    created: 'starting',
    starting: 'same',
    running: 'same',
    pausing: undefined,
    paused: undefined,
    stopping: undefined,
    stopped: 'starting',
    failed: 'starting',
    deleting: undefined,
  },
  pause: {
    creating: undefined,
    created: undefined,
    starting: 'pausing',
    running: 'pausing',
    pausing: 'same',
    paused: 'same',
    stopping: undefined,
    stopped: undefined,
    failed: undefined,
    deleting: undefined,
  },
  resume: {
    creating: undefined,
    created: undefined,
    starting: 'same',
    running: 'same',
    pausing: 'starting',
    paused: 'starting',
    stopping: undefined,
    stopped: undefined,
    failed: undefined,
    deleting: undefined,
  },
  stop: {
    creating: undefined,
    created: 'stopped',
    starting: 'stopping',
    running: 'stopping',
    pausing: 'stopping',
    paused: 'stopping',
    stopping: 'same',
    stopped: 'same',
    failed: 'stopped',
    deleting: undefined,
  },
}

export function transition(status: PipelineStatus, action: PipelineAction): Transition {
  return ACTIONS[action][status]
}

/** What is wanted after an action that is possible. */
export const DESIRED_AFTER: Record<PipelineAction, DesiredStatus> = {
  start: 'running',
  pause: 'paused',
  resume: 'running',
  stop: 'stopped',
}

export type Observation = Pick<ObservedTask, 'status' | 'reason' | 'revision' | 'attempt'>

/**
 * The status that follows from what all tasks of a pipeline report, given what is wanted. Reports of an older revision or attempt don't
 * count. Undefined: nothing new is known.
 */
export function statusFrom(
  desired: DesiredStatus,
  tasks: number,
  current: PipelineStatus,
  observations: Observation[],
  revision: number,
  attempt: number,
): { status: PipelineStatus; reason: string | null } | undefined {
  if (current === 'creating' || current === 'created' || current === 'deleting') return undefined
  const known = observations.filter((each) => each.revision === revision && each.attempt === attempt)
  const failed = known.find(({ status }) => status === 'failed')
  if (failed && desired !== 'stopped') return { status: 'failed', reason: failed.reason }
  const all = (status: Observation['status']) => known.length >= tasks && known.every((each) => each.status === status)
  const reason = known.find((each) => each.reason !== null)?.reason ?? null
  if (desired === 'running') return all('running') ? { status: 'running', reason } : { status: 'starting', reason }
  if (desired === 'paused') return all('paused') ? { status: 'paused', reason } : { status: 'pausing', reason }
  return known.every(({ status }) => status === 'stopped') && (known.length > 0 || current === 'stopped')
    ? { status: 'stopped', reason: null }
    : { status: 'stopping', reason }
}
