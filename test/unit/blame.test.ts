/** Who is at fault when runners end by themselves: the guilty pipeline is found, and the others go on. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createBlame } from '../../services/processor/supervisor/blame.ts'
import { definitionOf } from '../harness/definitions.ts'

const setUp = (count: number) => {
  let clock = 1_000_000
  const blame = createBlame(
    (accountId) => `account/${accountId}`,
    () => clock,
  )
  const runs = Array.from({ length: count }, (_, n) => definitionOf(`pl_${n}`))
  const runsOf = (group: string, failed: ReadonlySet<string> = new Set()) =>
    runs.filter((run) => !failed.has(run.pipeline_id) && blame.groupOf(run) === group)
  return { blame, runs, runsOf, pass: (ms: number) => void (clock += ms) }
}

const nothing = new Set<string>()

describe('a runner that ends', () => {
  it('once: all its pipelines come back together', () => {
    const { blame, runs, runsOf } = setUp(3)
    expect(blame.onEnd('account/acc_a', runs, new Set(['pl_1']))).toEqual([])
    expect(runsOf('account/acc_a')).toHaveLength(3)
  })

  it('twice: the pipeline that was at work gets a runner of its own, and fails after two more ends', () => {
    const { blame, runs, runsOf } = setUp(3)
    const atWork = new Set(['pl_1'])
    blame.onEnd('account/acc_a', runs, atWork)
    blame.onEnd('account/acc_a', runs, atWork)
    expect(runsOf('account/acc_a').map(({ pipeline_id }) => pipeline_id)).toEqual(['pl_0', 'pl_2'])
    expect(blame.groupOf(runs[1]!)).toBe('suspect/pl_1')
    expect(blame.onEnd('suspect/pl_1', [runs[1]!], atWork)).toEqual([])
    expect(blame.onEnd('suspect/pl_1', [runs[1]!], nothing)).toEqual([runs[1]])
  })

  it('twice within more than ten minutes: no pipeline is suspected', () => {
    const { blame, runs, runsOf, pass } = setUp(2)
    blame.onEnd('account/acc_a', runs, new Set(['pl_1']))
    pass(11 * 60_000)
    blame.onEnd('account/acc_a', runs, new Set(['pl_1']))
    expect(runsOf('account/acc_a')).toHaveLength(2)
  })
})

describe('a suspect', () => {
  const suspected = () => {
    const set = setUp(2)
    for (let n = 0; n < 2; n++) set.blame.onEnd('account/acc_a', set.runs, new Set(['pl_1']))
    return set
  }
  it('goes back after ten quiet minutes', () => {
    const { blame, runs, pass } = suspected()
    pass(10 * 60_000 + 1)
    expect(blame.groupOf(runs[1]!)).toBe('account/acc_a')
  })

  it('goes back with its next revision, and with a start by hand', () => {
    expect(suspected().blame.groupOf(definitionOf('pl_1', { revision: 2 }))).toBe('account/acc_a')
    expect(suspected().blame.groupOf(definitionOf('pl_1', { attempt: 2 }))).toBe('account/acc_a')
  })
})

it('finds the one guilty pipeline among many without any note, and fails no other', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 60 }), fc.nat(), (count, pick) => {
      const { blame, runs, runsOf, pass } = setUp(count)
      const guilty = runs[pick % count]!
      const failed = new Set<string>()
      for (let ends = 0; ends < 30 && failed.size === 0; ends++) {
        pass(1000)
        const group = blame.groupOf(guilty)
        for (const each of blame.onEnd(group, runsOf(group), nothing)) failed.add(each.pipeline_id)
      }
      expect([...failed]).toEqual([guilty.pipeline_id])
    }),
  )
})
