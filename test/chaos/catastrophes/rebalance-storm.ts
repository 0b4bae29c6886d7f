/** Strangers join and leave the pipeline's group: its partitions move again and again, and some of them to a member that does nothing. */
import { serviceNames } from '../../../shared/model/definition.ts'
import { sleep } from '../arena.ts'
import type { Catastrophe } from './catastrophe.ts'

export const rebalanceStorm: Catastrophe = {
  name: 'rebalance-storm',
  takesMs: 15_000,
  async run(arena, random) {
    const { env } = arena.launched
    const groupId = serviceNames(env.DPS_PREFIX!).pipelineGroup(arena.pipeline.id)
    const turns = random.between(2, 4)
    for (let turn = 0; turn < turns; turn++) {
      const consumer = arena.kafka.consumer({ groupId, sessionTimeout: 6000, rebalanceTimeout: 6000, heartbeatInterval: 500 })
      try {
        await consumer.connect()
        await consumer.subscribe({ topics: [arena.pipeline.sourceTopic] })
        await consumer.run({ autoCommit: false, eachBatch: async () => {} })
        await sleep(random.between(300, 2000))
      } catch {
        // The coordinator is away, or no protocol is shared: the try alone makes the group rebalance.
      }
      await consumer.disconnect().catch(() => {})
    }
    return `${turns} strangers`
  },
}
