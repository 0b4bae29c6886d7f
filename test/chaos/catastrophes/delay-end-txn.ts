/** An EndTxn request reaches the broker seconds after its sender has given up on it: it must not end a later transaction. */
import { sleep } from '../arena.ts'
import { disturbEndTxn, type Catastrophe } from './catastrophe.ts'

export const delayEndTxn: Catastrophe = {
  name: 'delay-end-txn',
  takesMs: 20_000,
  async run(arena, random) {
    const ms = random.between(8500, 12_000)
    const delayed = await disturbEndTxn(arena, 1500, (proxy, isOn) => proxy.delayEndTxn(isOn ? ms : 0))
    await sleep(ms)
    return `${delayed} of them by ${ms} ms`
  },
}
