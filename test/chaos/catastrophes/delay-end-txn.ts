/** The end of a transaction reaches the broker seconds after its sender has given it up: it must not end a later one. */
import { sleep } from '../arena.ts'
import type { Catastrophe } from './catastrophe.ts'

export const delayEndTxn: Catastrophe = {
  name: 'delay-end-txn',
  takesMs: 16_000,
  async run(arena, random) {
    const ms = random.between(8500, 12_000)
    for (const proxy of arena.proxies) proxy.delayEndTxn(ms)
    await sleep(1500)
    for (const proxy of arena.proxies) proxy.delayEndTxn(0)
    await sleep(ms)
    return `by ${ms} ms`
  },
}
