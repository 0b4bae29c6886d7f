/** SIGKILL of a runner at any instruction; its supervisor starts another one. */
import { pickRunner, type Catastrophe } from './catastrophe.ts'

export const killRunner: Catastrophe = {
  name: 'kill-runner',
  takesMs: 3000,
  async run(arena, random) {
    const { pid, group } = await pickRunner(arena, random)
    process.kill(pid, 'SIGKILL')
    return `a runner of ${group}`
  },
}
