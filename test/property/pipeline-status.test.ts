/** The status machine: complete over status × event, and sound over any sequence of events. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { DesiredStatus } from '../../shared/model/definition.ts'
import {
  DESIRED_AFTER,
  eventFrom,
  keepsReason,
  READ_TO_END,
  PIPELINE_ACTIONS,
  PIPELINE_EVENTS,
  PIPELINE_STATUSES,
  statusFrom,
  transition,
  TRANSITIONS,
  type Observation,
  type PipelineEvent,
  type PipelineStatus,
} from '../../shared/model/pipeline-status.ts'
import { chainTask } from '../../shared/model/task.ts'

const event = fc.constantFrom(...PIPELINE_EVENTS)
const status = fc.constantFrom(...PIPELINE_STATUSES)
const apply = (current: PipelineStatus, happening: PipelineEvent): PipelineStatus => {
  const next = transition(current, happening)
  return next === 'same' || next === 'refused' ? current : next
}

describe('the status table', () => {
  it('has exactly one entry for every status and event', () => {
    expect(Object.keys(TRANSITIONS).sort()).toEqual([...PIPELINE_STATUSES].sort())
    for (const row of Object.values(TRANSITIONS)) expect(Object.keys(row).sort()).toEqual([...PIPELINE_EVENTS].sort())
    for (const row of Object.values(TRANSITIONS))
      for (const next of Object.values(row)) expect([...PIPELINE_STATUSES, 'same', 'refused']).toContain(next)
  })

  it('refuses only requests of clients, never reports of tasks', () => {
    for (const current of PIPELINE_STATUSES)
      for (const happening of PIPELINE_EVENTS)
        if (transition(current, happening) === 'refused') expect(['update', 'delete', ...PIPELINE_ACTIONS]).toContain(happening)
  })

  it('does not move when an action is repeated, except for restart', () => {
    fc.assert(
      fc.property(status, fc.constantFrom('start', 'pause', 'resume', 'stop', 'delete' as const), (current, action) => {
        const next = transition(current, action)
        if (next !== 'same' && next !== 'refused') expect(['same', 'refused', next]).toContain(transition(next, action))
      }),
    )
  })

  it('never leaves deleting, and lets no report start a stopped pipeline, nor a failed one but that all its tasks run', () => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 40 }), (events) => {
        let current: PipelineStatus = 'creating'
        let isDeleted = false
        for (const happening of events) {
          const before = current
          current = apply(current, happening)
          isDeleted ||= happening === 'delete' && transition(before, happening) !== 'refused'
          if (isDeleted) expect(current).toBe('deleting')
          const isReport = happening.startsWith('task')
          if (isReport && before === 'stopped') expect(current).toBe(before)
          if (isReport && before === 'failed') expect(current).toBe(happening === 'tasks_running' ? 'running' : 'failed')
          if (isReport && before === 'stopping') expect(['stopping', 'stopped']).toContain(current)
        }
      }),
    )
  })

  it('reaches running, paused or stopped by the reports after an action, from every status that allows the action', () => {
    for (const current of PIPELINE_STATUSES) {
      for (const [action, report, reached] of [
        ['start', 'tasks_running', 'running'],
        ['resume', 'tasks_running', 'running'],
        ['restart', 'tasks_running', 'running'],
        ['pause', 'tasks_paused', 'paused'],
        ['stop', 'tasks_stopped', 'stopped'],
      ] as const) {
        if (transition(current, action) !== 'refused') expect(apply(apply(current, action), report)).toBe(reached)
      }
    }
  })
})

const report = (change: Partial<Observation> = {}): Observation => ({
  role: 'chain',
  task: 0,
  status: 'running',
  reason: null,
  attempt: 1,
  held_back: false,
  ...change,
})

describe('the reports of tasks', () => {
  it('don’t count when they are of another attempt, or of tasks that are no longer wanted', () => {
    expect(statusFrom('running', [chainTask(0)], 'starting', [report({ status: 'failed', reason: 'why' })], 2)).toMatchObject({
      status: 'starting',
    })
    expect(
      statusFrom('running', [chainTask(0)], 'running', [report(), report({ task: 1, status: 'failed', reason: 'old' })], 1),
    ).toMatchObject({
      status: 'running',
    })
    expect(statusFrom('running', [chainTask(0)], 'running', [report({ status: 'failed', reason: 'why' })], 1)).toMatchObject({
      status: 'failed',
      reason: 'why',
    })
  })

  it('leave a failed pipeline its reason until all its tasks run again', () => {
    const tasks = [0, 1].map(chainTask)
    const after = (...reports: Observation[]) => {
      const next = statusFrom('running', tasks, 'failed', reports, 1)!
      return [next.status, keepsReason('failed', next)]
    }
    expect(after(report({ status: 'starting' }), report({ task: 1 }))).toEqual(['failed', true])
    expect(after(report({ status: 'failed', reason: 'another' }), report({ task: 1 }))).toEqual(['failed', false])
    expect(after(report(), report({ task: 1 }))).toEqual(['running', false])
  })

  it('pause a pipeline when one of its tasks has held itself back', () => {
    expect(
      statusFrom(
        'running',
        [0, 1].map(chainTask),
        'running',
        [report(), report({ task: 1, status: 'paused', held_back: true, reason: 'too many' })],
        1,
      ),
    ).toEqual({
      status: 'paused',
      reason: 'too many',
      event: 'task_held_back',
    })
  })

  it('say that the source has been read to its end only when each part of it has', () => {
    const tasks = [chainTask(0), { role: 'intake' as const, task: 0 }, { role: 'intake' as const, task: 1 }]
    const reasonWith = (first: string | null, second: string | null) =>
      eventFrom(
        'running',
        tasks,
        [report(), report({ role: 'intake', reason: first }), report({ role: 'intake', task: 1, reason: second })],
        1,
      ).reason
    expect(reasonWith(READ_TO_END, null)).toBe(null)
    expect(reasonWith(READ_TO_END, READ_TO_END)).toBe(READ_TO_END)
    expect(reasonWith(READ_TO_END, 'retrying: away')).toBe('retrying: away')
  })

  it('make the pipeline running, paused or stopped only when all tasks are', () => {
    const observation = fc.record({
      role: fc.constant('chain' as const),
      task: fc.nat(3),
      status: fc.constantFrom<Observation['status']>('starting', 'running', 'paused', 'stopped', 'failed'),
      reason: fc.constant(null),
      attempt: fc.constant(1),
      held_back: fc.constant(false),
    })
    const distinct = fc.uniqueArray(observation, { selector: ({ task }) => task, maxLength: 4 })
    fc.assert(
      fc.property(distinct, fc.constantFrom<DesiredStatus>('running', 'paused', 'stopped'), (observations, desired) => {
        const { event: told } = eventFrom(desired, [0, 1, 2, 3].map(chainTask), observations, 1)
        const all = (...statuses: string[]) => observations.length === 4 && observations.every((each) => statuses.includes(each.status))
        if (told === 'tasks_running') expect(all('running')).toBe(true)
        if (told === 'tasks_paused') expect(all('paused')).toBe(true)
        if (told === 'tasks_stopped') expect(all('stopped', ...(desired === 'stopped' ? ['failed'] : []))).toBe(true)
      }),
    )
  })

  it('are judged by a desired status, which every action has', () => {
    expect(Object.keys(DESIRED_AFTER).sort()).toEqual([...PIPELINE_ACTIONS].sort())
  })
})
