/** A short chaos run for every test run; `make chaos` is the long one. */
import { describe, expect, it } from 'vitest'
import { openArena } from './arena.ts'
import { runChaos } from './chaos.ts'
import { delayEndTxn } from './catastrophes/delay-end-txn.ts'
import { killBroker } from './catastrophes/kill-broker.ts'
import { cutEndTxn } from './catastrophes/cut-end-txn.ts'
import { killRunner } from './catastrophes/kill-runner.ts'
import { swapRevision } from './catastrophes/swap-revision.ts'
import { limitMs } from '../harness/machine-speed.ts'

describe('three brokers and three processors under faults', () => {
  it('lose nothing, duplicate nothing and keep order', { timeout: Math.max(900_000, limitMs(480_000)) }, async () => {
    const say = (line: string) => process.stdout.write(`chaos: ${line}\n`)
    const arena = await openArena(`short${process.pid}`, say)
    try {
      const result = await runChaos(arena, {
        seed: 4,
        // The load goes on until each catastrophe has come once; so long for two kills of processors.
        loadSeconds: 45,
        recordsPerSecond: 4000,
        catastrophes: [swapRevision, killRunner, cutEndTxn, killBroker, delayEndTxn],
        say,
      })
      expect(result.verdict).toMatchObject({
        lost: 0,
        duplicated: 0,
        out_of_order: 0,
        ghosts: 0,
        misplaced: 0,
        revisions_out_of_order: 0,
      })
      const none = { lost: 0, duplicated: 0, out_of_order: 0, ghosts: 0, letters_missing: 0, letters_duplicated: 0 }
      for (const found of Object.values(result.outside)) {
        expect(found).toMatchObject(none)
        expect(found.records).toBeGreaterThan(1000)
      }
      for (const name of ['kill-broker', 'kill-runner', 'swap-revision', 'freeze-control-plane'])
        expect([name, result.happened[name] ?? 0]).not.toEqual([name, 0])
      // There may be no transaction that ends while one of them waits; both count by the same proxies.
      const timesOf = (counted: Record<string, number>) => (counted['cut-end-txn'] ?? 0) + (counted['delay-end-txn'] ?? 0)
      if (timesOf(result.tried) > 1) expect(timesOf(result.happened)).toBeGreaterThan(0)
      expect(result.neverHappened).toEqual([])
      expect(result.accountingBalanced).toBe(true)
      expect(result.wrongBorders).toEqual([])
      expect(result.kills).toBeGreaterThanOrEqual(2)
    } finally {
      await arena.close()
    }
  })
})
