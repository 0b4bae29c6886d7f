/** Which runners are started where there is little time for them, and what their pipelines say meanwhile: real processes. */
import { availableParallelism } from 'node:os'
import { afterEach, expect, it, vi } from 'vitest'
import type { Placement } from '../../services/processor/supervisor/runner-group.ts'
import { openRunners, type Runners } from '../../services/processor/supervisor/runners.ts'
import { chainTask } from '../../shared/model/task.ts'
import { definitionOf } from '../harness/definitions.ts'
import { nothingDefined, runnerSettings } from '../harness/runners.ts'

let runners: Runners | undefined
afterEach(() => runners?.close())

function openUnit(): Runners {
  runners = openRunners({
    settings: runnerSettings,
    env: {},
    memoryBytesMax: 2 ** 31,
    now: Date.now,
    ...nothingDefined,
    niceOf: () => 0,
    onEnd: () => {},
    onTaskEnded: () => {},
    onDeclined: () => {},
    onLogs: () => {},
    onChange: () => {},
    onFreed: () => {},
    log: () => {},
  })
  return runners
}

const placementOf = (id: string, account_id: string, desired: 'running' | 'paused' = 'running'): Placement =>
  new Map([[id, { definition: definitionOf(id, { account_id, desired }), tasks: [chainTask(0)] }]])

it('suspects of one account leave a place to start to others, whose pipelines say what they wait for', () => {
  const own = openUnit()
  const many = Math.max(2, availableParallelism()) + 2
  const suspects = Array.from({ length: many }, (_, index) => `pl_${index}`)
  const groups = new Map([
    ...suspects.map((id) => [`suspect/${id}`, placementOf(id, 'acc_a')] as const),
    ['account/acc_b', placementOf('pl_b', 'acc_b')] as const,
    // It waits for nothing: what it says would take the place of the reason for which it is paused.
    ['account/acc_c', placementOf('pl_c', 'acc_c', 'paused')] as const,
  ])
  // None of them is ready before this thread has heard of it.
  own.place(groups)
  const started = own.usage().map(({ group }) => group)
  expect(started).toHaveLength(many - 2)
  expect(started).toContain('account/acc_b')
  expect(own.reports()).toEqual([])
  const clock = vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 6000)
  own.place(groups)
  const reason = expect.stringContaining('has not come up yet')
  const reports = own.reports()
  clock.mockRestore()
  expect(reports.map(({ pipeline_id }) => pipeline_id).toSorted()).toEqual([...suspects, 'pl_b'].toSorted())
  for (const report of reports) expect(report).toMatchObject({ status: 'starting', reason, processor_id: 'processor-1' })
})
