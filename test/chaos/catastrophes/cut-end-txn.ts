/** Connections die with an EndTxn request on them: the processor does not know whether its transaction was committed. */
import { disturbEndTxn, type Catastrophe } from './catastrophe.ts'

export const cutEndTxn: Catastrophe = {
  name: 'cut-end-txn',
  takesMs: 9000,
  async run(arena, random) {
    const ms = random.between(300, 3000)
    const cut = await disturbEndTxn(arena, ms, (proxy, isOn) => proxy.cutEndTxn(isOn))
    return `${cut} of them`
  },
}
