/** SIGKILL of a runner at any instruction; its supervisor starts another one. */
import { pickRunner, type Catastrophe } from './catastrophe.ts'

export const killRunner: Catastrophe = {
  name: 'kill-runner',
  takesMs: 500,
  async run(arena, random) {
    const runner = pickRunner(arena, random)
    if (!runner) return 'none is alive'
    process.kill(runner.pid, 'SIGKILL')
    return `a runner of ${runner.processor}`
  },
}
