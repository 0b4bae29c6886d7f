/** SIGSTOP: a processor stands still while its partitions move, then resumes unaware that time has passed. */
import { freeze, type Catastrophe } from './catastrophe.ts'

export const pauseProcessor: Catastrophe = {
  name: 'pause-processor',
  takesMs: 42_000,
  async run(arena, random) {
    const alive = arena.launched.processors.filter((processor) => processor.pid() !== undefined)
    if (alive.length === 0) return 'none is alive'
    const victim = random.pick(alive)
    const pid = victim.pid()!
    const ms = random.between(1000, 40_000)
    await freeze(pid, ms)
    return `${victim.name} for ${ms} ms`
  },
}
