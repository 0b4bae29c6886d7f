/** Postgres or Redis is restarted: this may disturb the control plane, but not the data. */
import { sleep } from '../arena.ts'
import type { Catastrophe } from './catastrophe.ts'

export const restartStores: Catastrophe = {
  name: 'restart-stores',
  takesMs: 20_000,
  async run({ launched: { stack } }, random) {
    const name = random.pick(['postgres', 'redis'] as const)
    const restart = stack.restarts[name]
    if (!restart) return `${name} was not started by us`
    await restart()
    await sleep(3000)
    return name
  },
}
