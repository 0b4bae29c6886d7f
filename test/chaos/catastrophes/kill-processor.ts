/** SIGKILL of a processor at any instruction; the launcher restarts it. */
import { pickAlive, type Catastrophe } from './catastrophe.ts'

export const killProcessor: Catastrophe = {
  name: 'kill-processor',
  takesMs: 500,
  async run(arena, random) {
    const alive = arena.launched.processors.filter((processor) => processor.pid() !== undefined)
    const victim = pickAlive(random, alive)
    process.kill(victim.pid()!, 'SIGKILL')
    arena.kills++
    return victim.name
  },
}
