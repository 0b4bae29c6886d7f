/** SIGSTOP: one of two control planes stands still, even just before a write, while the other goes on; then it resumes. */
import { freeze, type Catastrophe } from './catastrophe.ts'

export const freezeControlPlane: Catastrophe = {
  name: 'freeze-control-plane',
  takesMs: 26_000,
  async run({ controlPlanes }, random) {
    const victim = random.pick(controlPlanes)
    const pid = victim.pid()
    if (pid === undefined) throw new Error(`${victim.name} is not alive`)
    const ms = random.between(2000, 25_000)
    await freeze([pid], ms)
    return `${victim.name} for ${ms} ms`
  },
}
