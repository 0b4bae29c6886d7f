/** Postgres or Redis is restarted: this may disturb the control plane, but not the data. */
import { sleep } from '../arena.ts'
import type { Catastrophe } from './catastrophe.ts'

export const restartStores: Catastrophe = {
  name: 'restart-stores',
  takesMs: 20_000,
  async run({ launched: { stack } }, random) {
    const ours = (['postgres', 'redis'] as const).filter((each) => stack.restarts[each])
    if (ours.length === 0) throw new Error('neither was started by us')
    const name = random.pick(ours)
    await stack.restarts[name]!()
    await sleep(3000)
    return name
  },
}
