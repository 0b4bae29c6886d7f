/**
 * A runner ends as V8 ends it when its heap is full (SIGABRT), so that it is blamed. Only three times a run: a pipeline whose runner ends
 * so again and again is meant to fail.
 */
import { pickRunner, type Catastrophe } from './catastrophe.ts'

let left = 3

export const exhaustRunner: Catastrophe = {
  name: 'exhaust-runner',
  takesMs: 3000,
  async run(arena, random) {
    if (left === 0) throw new Error('it was done as often as it may be')
    const { pid, group } = await pickRunner(arena, random)
    process.kill(pid, 'SIGABRT')
    left--
    return `a runner of ${group}`
  },
}
