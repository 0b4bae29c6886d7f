/** Connections die with an EndTxn request on them: the processor does not know whether its transaction was committed. */
import { sleep } from '../arena.ts'
import type { Catastrophe } from './catastrophe.ts'

export const cutEndTxn: Catastrophe = {
  name: 'cut-end-txn',
  takesMs: 5000,
  async run(arena, random) {
    for (const proxy of arena.proxies) proxy.cutEndTxn(true)
    await sleep(random.between(300, 3000))
    for (const proxy of arena.proxies) proxy.cutEndTxn(false)
    return 'for a moment'
  },
}
