/**
 * SIGSTOP: a processor, or its supervisor or its runners alone, stands still while its partitions move, then resumes unaware that time has
 * passed. Runners that stand still alone do so for less than their supervisor bears.
 */
import { childrenOf } from '../../harness/child-processes.ts'
import { freeze, pickAlive, type Catastrophe } from './catastrophe.ts'

const SILENCE_MS_MAX = 8000

export const freezeProcessor: Catastrophe = {
  name: 'freeze-processor',
  takesMs: 42_000,
  async run(arena, random) {
    const alive = arena.launched.processors.filter((processor) => processor.pid() !== undefined)
    const victim = pickAlive(random, alive)
    const supervisor = victim.pid()!
    const runners = childrenOf(supervisor)
    const what = random.pick(['all', 'supervisor', 'runners'] as const)
    const pids = { all: [...runners, supervisor], supervisor: [supervisor], runners }[what]
    const ms = random.between(1000, what === 'runners' ? SILENCE_MS_MAX : 40_000)
    await freeze(pids, ms)
    return `${victim.name} (${what}) for ${ms} ms`
  },
}
