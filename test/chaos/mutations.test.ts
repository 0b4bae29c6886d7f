/** Some of the broken rules of `make chaos` (`mutation-runs.ts`), for every test run: an oracle that notices none of them shows nothing. */
import { describe, expect, it } from 'vitest'
import { limitMs } from '../harness/machine-speed.ts'
import { openArena } from './arena.ts'
import { runMutations } from './mutation-runs.ts'

describe('the oracle', () => {
  it(
    'notices every rule that is broken on purpose, and finds nothing wrong with none',
    { timeout: Math.max(900_000, limitMs(480_000)) },
    async () => {
      const say = (line: string) => process.stdout.write(`chaos: ${line}\n`)
      const arena = await openArena(`mutations${process.pid}`, say)
      try {
        const runs = await runMutations(arena, ['none', 'no_sequences', 'drop_failed', 'count_aborted', 'commit_before_output'], say)
        const control = runs.find(({ mutation }) => mutation === 'none')
        expect(control).toMatchObject({ why: 'nothing wrong' })
        expect(runs.map(({ mutation, isCaught }) => [mutation, isCaught])).toEqual([
          ['none', false],
          ['no_sequences', true],
          ['drop_failed', true],
          ['count_aborted', true],
          ['commit_before_output', true],
        ])
      } finally {
        await arena.close()
      }
    },
  )
})
