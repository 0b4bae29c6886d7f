/** How processors count the time of accounts, and how they share it among them. */
import { describe, expect, it } from 'vitest'
import { createCpuMeter } from '../../services/processor/supervisor/cpu-meter.ts'
import { niceOf } from '../../services/processor/supervisor/nice.ts'
import type { AccountState } from '../../shared/model/definition.ts'
import { chainTask } from '../../shared/model/task.ts'
import { definitionOf } from '../harness/definitions.ts'

describe('CPU time', () => {
  it('is counted by account and clock hour, through ends and restarts of runners', () => {
    let now = Date.parse('2026-11-22T19:59:00Z')
    const meter = createCpuMeter('p1', () => now)
    const use = (pid: number, account: string | undefined, cpuSeconds: number) => ({ pid, account, cpuSeconds })
    meter.look([use(1, 'acc_a', 2), use(2, 'acc_a', 1), use(3, 'acc_b', 5), use(4, undefined, 50)])
    meter.look([use(1, 'acc_a', 2.5), use(3, 'acc_b', 5)])
    // A runner with the pid of one that has ended starts from nothing.
    meter.look([use(1, 'acc_a', 2.5), use(2, 'acc_b', 0.5)])
    const count = (account_id: string, cpu_seconds: number, hour: string) => ({ account_id, processor_id: 'p1', hour, cpu_seconds })
    expect(meter.counts()).toEqual([count('acc_a', 3.5, '2026-11-22T19'), count('acc_b', 5.5, '2026-11-22T19')])
    now += 60_000
    meter.look([use(1, 'acc_a', 10)])
    expect(meter.counts()).toEqual([count('acc_a', 7.5, '2026-11-22T20')])
  })

  it('is shared by account type; who is slow, suspected, or has used too much, comes last', () => {
    const accounts: Record<string, AccountState> = {
      acc_dev: { type: 'developer', is_suspended: false, is_over_cpu: false },
      acc_ent: { type: 'enterprise', is_suspended: false, is_over_cpu: false },
      acc_over: { type: 'enterprise', is_suspended: false, is_over_cpu: true },
    }
    const nice = (group: string, ...ids: string[]) => niceWhile(false, group, ...ids)
    const niceWhile = (hasSteppedBack: boolean, group: string, ...ids: string[]) =>
      niceOf(
        group,
        new Map(ids.map((account_id) => [account_id, { definition: definitionOf(account_id, { account_id }), tasks: [chainTask(0)] }])),
        {
          account: (id) => accounts[id],
        },
        hasSteppedBack,
      )
    const [enterprise, unknown, developer, over] = [
      nice('account/a', 'acc_ent'),
      nice('account/b', 'acc_new'),
      nice('account/c', 'acc_dev'),
      nice('account/d', 'acc_over'),
    ]
    expect([enterprise, unknown, developer, over]).toEqual([enterprise, unknown, developer, over].toSorted((a, b) => a - b))
    expect(new Set([enterprise, unknown, developer, over]).size).toBe(4)
    expect(enterprise).toBeGreaterThan(0)
    expect(over).toBe(19)
    expect(nice('suspect/pl_x', 'acc_ent')).toBeGreaterThan(developer)
    expect(nice('suspect/pl_x', 'acc_over')).toBe(19)
    expect(niceWhile(true, 'account/a', 'acc_ent')).toBeGreaterThan(developer)
    expect(niceWhile(true, 'account/d', 'acc_over')).toBe(19)
    expect(nice('accounts/0', 'acc_over', 'acc_dev', 'acc_ent')).toBe(enterprise)
  })
})
