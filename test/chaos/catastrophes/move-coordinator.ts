/** The broker that coordinates the pipeline's group is shut down cleanly and restarted: its coordinators move twice. */
import { serviceNames } from '../../../shared/model/definition.ts'
import { sleep } from '../arena.ts'
import type { Catastrophe } from './catastrophe.ts'

export const moveCoordinator: Catastrophe = {
  name: 'move-coordinator',
  takesMs: 30_000,
  async run(arena) {
    const groupId = serviceNames(arena.launched.env.DPS_PREFIX!).runGroup(arena.pipeline.id)
    const nodeId = await arena.cluster.groupCoordinator(groupId)
    const node = arena.launched.stack.kafka!.nodes.find(({ id }) => id === nodeId)!
    await node.child().stop(15_000)
    await sleep(1000)
    await node.restart()
    await sleep(8000)
    return `broker ${nodeId}`
  },
}
