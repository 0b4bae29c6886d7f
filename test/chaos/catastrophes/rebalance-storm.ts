/** Idle members join and leave the pipeline's group: its partitions move again and again, some of them to a member that does nothing. */
import { reasonOf } from '../../../shared/errors/reason-of.ts'
import { serviceNames } from '../../../shared/model/definition.ts'
import { sleep } from '../arena.ts'
import { visitGroup } from '../idle-member.ts'
import type { Catastrophe } from './catastrophe.ts'

export const rebalanceStorm: Catastrophe = {
  name: 'rebalance-storm',
  takesMs: 25_000,
  async run({ launched: { env, stack }, pipeline }, random) {
    const groupId = serviceNames(env.DPS_PREFIX!).runGroup(pipeline.id)
    const turns = random.between(3, 6)
    let joined = 0
    let why: unknown
    for (let turn = 0; turn < turns; turn++) {
      // The coordinator may be down: then this visit has no effect.
      await visitGroup(stack.kafkaBrokers, groupId, pipeline.sourceTopic, random.between(200, 2000)).then(
        () => joined++,
        (error: unknown) => (why = error),
      )
      await sleep(random.between(0, 1000))
    }
    if (joined === 0) throw new Error(`none of ${turns} strangers has joined: ${reasonOf(why)}`)
    return `${joined} of ${turns} strangers`
  },
}
