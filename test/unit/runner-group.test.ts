/** What a group knows of its runner's tasks while assignments and ends cross each other on the pipe. */
import { describe, expect, it } from 'vitest'
import type { FromRunner, ToRunner } from '../../services/processor/channel/protocol.ts'
import { createRunnerGroup } from '../../services/processor/supervisor/runner-group.ts'
import type { RunnerProcess } from '../../services/processor/supervisor/runner-process.ts'
import { ObservedTask } from '../../shared/model/observed.ts'
import { chainTask } from '../../shared/model/task.ts'
import { definitionOf, REPORT } from '../harness/definitions.ts'
import { nothingDefined } from '../harness/runners.ts'

const report = (task: number, more: Partial<ObservedTask> = {}): ObservedTask => ({
  ...ObservedTask.parse({ ...REPORT, task, processor_id: 'forged' }),
  ...more,
})

function setUp() {
  const sent: ToRunner[] = []
  const ended: ObservedTask[] = []
  const group = createRunnerGroup({
    name: 'account/acc_a',
    processorId: 'processor-1',
    ...nothingDefined,
    isHeldElsewhere: () => false,
    onTaskEnded: (last) => ended.push(last),
    onDeclined: () => {},
    onLogs: () => {},
    onChange: () => {},
    onFreed: () => {},
  })
  const runner: RunnerProcess = {
    pid: 1,
    isReady: () => true,
    usage: () => ({ rssBytes: 0, cpuSeconds: 0, lanes: 0, lanesSlow: 0 }),
    hasSteppedBack: () => false,
    send: (value) => sent.push(value),
    sendBinary: () => {},
    setNice: () => {},
    drain: () => {},
    kill: () => {},
    ended: new Promise(() => {}),
  }
  group.use(runner)
  const assign = (attempt: number, tasks = [0, 1]) =>
    group.tell(new Map([['pl_a', { definition: definitionOf('pl_a', { attempt, tasks: 2 }), tasks: tasks.map(chainTask) }]]))
  const assignment = () => sent.flatMap((value) => (value.type === 'assign' ? [value.assignment] : [])).at(-1)!
  const say = (value: Partial<Extract<FromRunner, { type: 'report' }>>) => group.onValue({ type: 'report', tasks: [], ended: [], ...value })
  return { group, sent, ended, assign, release: () => group.tell(new Map()), assignment, say }
}

describe('a task that is assigned again while the report of its end is on the way', () => {
  it('is still held, and its reports count', () => {
    const { group, ended, assign, release, assignment, say } = setUp()
    assign(1)
    const first = assignment()
    say({ tasks: [report(0), report(1)] })
    release()
    assign(2)
    say({
      ended: [
        { assignment: first, last: report(0) },
        { assignment: first, last: report(1) },
      ],
    })
    expect([group.has('pl_a/0'), group.has('pl_a/1')]).toEqual([true, true])
    expect(ended).toEqual([])
    say({ tasks: [report(0, { attempt: 2 })] })
    expect(group.reports().find(({ task }) => task === 0)).toMatchObject({ attempt: 2, processor_id: 'processor-1' })
    say({ ended: [{ assignment: assignment(), last: report(0) }] })
    expect(group.has('pl_a/0')).toBe(false)
  })
})

describe('a runner', () => {
  it('can report only on the tasks that it was given', () => {
    const { group, assign, say } = setUp()
    assign(1, [0])
    say({ tasks: [report(1), { ...report(0), pipeline_id: 'pl_other' }] })
    expect(group.reports()).toEqual([])
    say({ tasks: [report(0)] })
    expect(group.reports()).toMatchObject([{ pipeline_id: 'pl_a', task: 0, processor_id: 'processor-1' }])
    // The run that it names is its own, and the pipeline beside it another's.
    say({ tasks: [{ ...report(0), job_id: 'pl_a', pipeline_id: 'pl_other' }] })
    expect(group.reports()).toMatchObject([{ pipeline_id: 'pl_a', task: 0 }])
    expect(group.reports()[0]!.job_id).toBeUndefined()
  })

  it('keeps the end of one of its tasks apart from the others', () => {
    const { group, ended, assign, assignment, say } = setUp()
    assign(1)
    const first = assignment()
    assign(1, [0])
    expect(assignment()).toBeGreaterThan(first)
    say({ ended: [{ assignment: first, last: report(1) }] })
    expect(ended).toMatchObject([{ task: 1 }])
    expect([group.has('pl_a/0'), group.has('pl_a/1')]).toEqual([true, false])
  })
})
