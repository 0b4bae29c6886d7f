/** An EndTxn request reaches the broker seconds after its sender has given up on it: it must not end a later transaction. */
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
