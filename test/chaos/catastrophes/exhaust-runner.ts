/**
 * A runner ends as V8 ends it when its heap is full (SIGABRT), so that it is blamed. Only three times a run: a pipeline whose runner ends
 * so again and again is meant to fail.
 */
import type { Arena } from '../arena.ts'
import { pickRunner, type Catastrophe } from './catastrophe.ts'

const TIMES_MAX = 3
/** How often it was done to an arena. */
const done = new WeakMap<Arena, number>()

export const exhaustRunner: Catastrophe = {
  name: 'exhaust-runner',
  takesMs: 3000,
  async run(arena, random) {
    const times = done.get(arena) ?? 0
    if (times === TIMES_MAX) throw new Error('it was done as often as it may be')
    const { pid, group } = await pickRunner(arena, random)
    process.kill(pid, 'SIGABRT')
    done.set(arena, times + 1)
    return `a runner of ${group}`
  },
}
