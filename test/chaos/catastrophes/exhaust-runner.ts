/**
 * A runner ends as V8 ends it when its heap is full (SIGABRT), so that it is blamed. Only three times a run: a pipeline whose runner ends
 * so again and again is meant to fail.
 */
import { pickRunner, type Catastrophe } from './catastrophe.ts'

let left = 3

export const exhaustRunner: Catastrophe = {
  name: 'exhaust-runner',
  takesMs: 500,
  async run(arena, random) {
    const runner = left > 0 ? pickRunner(arena, random) : undefined
    if (!runner) return 'none is left'
    left--
    process.kill(runner.pid, 'SIGABRT')
    return `a runner of ${runner.processor}`
  },
}
