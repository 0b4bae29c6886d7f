/** SIGKILL of a broker, including the leaders and coordinators on it; it restarts on its data after some seconds. */
import { sleep } from '../arena.ts'
import type { Catastrophe } from './catastrophe.ts'

export const killBroker: Catastrophe = {
  name: 'kill-broker',
  takesMs: 25_000,
  async run(arena, random) {
    const node = random.pick(arena.launched.stack.kafka!.nodes)
    process.kill(node.child().pid, 'SIGKILL')
    arena.kills++
    await node.child().exited
    await sleep(random.between(2000, 10_000))
    await node.restart()
    await sleep(8000)
    return `broker ${node.id}`
  },
}
