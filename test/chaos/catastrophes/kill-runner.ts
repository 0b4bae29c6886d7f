/** SIGKILL of a runner at any instruction; its supervisor starts another one. */
import { childrenOf } from '../../harness/child-processes.ts'
import type { Catastrophe } from './catastrophe.ts'

export const killRunner: Catastrophe = {
  name: 'kill-runner',
  takesMs: 500,
  async run(arena, random) {
    const runners = arena.launched.processors.flatMap((processor) => childrenOf(processor.pid() ?? 0).map((pid) => ({ processor, pid })))
    if (runners.length === 0) return 'none is alive'
    const { processor, pid } = random.pick(runners)
    process.kill(pid, 'SIGKILL')
    return `a runner of ${processor.name}`
  },
}
