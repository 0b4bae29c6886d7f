/** Postgres and Redis go away and come back: the control plane's matter, and none of the data's. */
import { sleep } from '../arena.ts'
import type { Catastrophe } from './catastrophe.ts'

export const restartStores: Catastrophe = {
  name: 'restart-stores',
  takesMs: 20_000,
  async run({ launched: { stack } }, random) {
    const name = random.pick(['postgres', 'redis'] as const)
    const restart = stack.restarts[name]
    if (!restart) return `${name} is not ours`
    await restart()
    await sleep(3000)
    return name
  },
}
