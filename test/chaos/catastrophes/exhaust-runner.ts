/**
 * A runner ends as V8 ends it when its heap is full (SIGABRT), so that it is blamed. Three times a run: a pipeline whose runner ends in this
 * way again and again is meant to fail.
 */
import { childrenOf } from '../../harness/child-processes.ts'
import type { Catastrophe } from './catastrophe.ts'

let left = 3

export const exhaustRunner: Catastrophe = {
  name: 'exhaust-runner',
  takesMs: 500,
  async run(arena, random) {
    const runners = arena.launched.processors.flatMap((processor) => childrenOf(processor.pid() ?? 0).map((pid) => ({ processor, pid })))
    if (runners.length === 0 || left === 0) return 'none is left'
    left--
    const { processor, pid } = random.pick(runners)
    process.kill(pid, 'SIGABRT')
    return `a runner of ${processor.name}`
  },
}
