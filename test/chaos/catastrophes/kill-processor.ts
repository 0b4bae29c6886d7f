/** SIGKILL of a processor at any instruction; the launcher restarts it. */
import type { Catastrophe } from './catastrophe.ts'

export const killProcessor: Catastrophe = {
  name: 'kill-processor',
  takesMs: 500,
  async run(arena, random) {
    const alive = arena.launched.processors.filter((processor) => processor.pid() !== undefined)
    if (alive.length === 0) return 'none is alive'
    const victim = random.pick(alive)
    process.kill(victim.pid()!, 'SIGKILL')
    arena.kills++
    return victim.name
  },
}
