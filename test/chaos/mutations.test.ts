/** Some of the broken rules of `make chaos` (`trials.ts`), for every test run: an oracle that notices none of them shows nothing. */
import { describe, expect, it } from 'vitest'
import { limitMs } from '../harness/machine-speed.ts'
import { openArena } from './arena.ts'
import { runTrials } from './trials.ts'

describe('the oracle', () => {
  it(
    'notices every rule that is broken on purpose, and finds nothing wrong with none',
    { timeout: Math.max(900_000, limitMs(480_000)) },
    async () => {
      const say = (line: string) => process.stdout.write(`chaos: ${line}\n`)
      const arena = await openArena(`mutations${process.pid}`, say)
      try {
        const trials = await runTrials(arena, ['none', 'no_sequences', 'drop_failed', 'count_aborted', 'commit_before_output'], say)
        const control = trials.find(({ mutation }) => mutation === 'none')
        expect(control).toMatchObject({ why: 'nothing wrong' })
        expect(trials.map(({ mutation, isCaught }) => [mutation, isCaught])).toEqual([
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
