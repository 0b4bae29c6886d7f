/** Half-open connections: some go silent for good, and neither side gets an error. */
import { sleep } from '../arena.ts'
import type { Catastrophe } from './catastrophe.ts'

export const freezeConnections: Catastrophe = {
  name: 'freeze-connections',
  takesMs: 15_000,
  async run(arena, random) {
    const frozen = arena.proxies.reduce((sum, proxy) => sum + proxy.freeze(0.4, random), 0)
    if (frozen === 0) throw new Error('there was no connection to silence')
    await sleep(12_000)
    return `${frozen} connections`
  },
}
