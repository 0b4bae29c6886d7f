/** Rules of the delivery broken on purpose, each by wrapping a phase of a round. */
import { setTimeout as sleep } from 'node:timers/promises'
import { interruptionOf } from '../../../services/processor/interruption.ts'
import { reasonOf } from '../../../shared/errors/reason-of.ts'
import type { Phases } from '../../../services/processor/phases.ts'
import type { Producer } from '../../../services/processor/transaction/producer.ts'

type Wrap = (phases: Phases) => Phases

/** Widens the moment in which the group may move on; fenced, a late commit would only be refused. */
const LATE_MS = 700
/** Widens the moment between offsets and output, in which a processor is to be killed. */
const BETWEEN_MS = 500
/** Where a batch's attributes stand (KIP-98). */
const ATTRIBUTES_AT = 21

/** Overrides members of a producer whose getters must stay getters. */
function withProducer(phases: Phases, override: (producer: Producer) => Partial<Producer>): Phases {
  return {
    ...phases,
    createProducer(...parameters) {
      const producer = phases.createProducer(...parameters)
      for (const [name, value] of Object.entries(override({ ...producer, commit: producer.commit.bind(producer) })))
        Object.defineProperty(producer, name, { value })
      return producer
    },
  }
}

const lateCommit = (phases: Phases): Phases['commitRound'] =>
  async function commitLate(...parameters) {
    await sleep(LATE_MS)
    return phases.commitRound(...parameters)
  }

export const MUTATIONS = {
  /** The offsets are committed in a separate transaction before the output is written. */
  commit_before_output(phases) {
    const waiting = new Map<string, Parameters<Phases['deliver']>>()
    return {
      ...phases,
      deliver(...parameters) {
        waiting.set(parameters[3].transactionalId!, parameters)
        return Promise.resolve(undefined)
      },
      async commitRound(...parameters) {
        await phases.commitRound(...parameters)
        await sleep(BETWEEN_MS)
        const producer = parameters[5]
        const output = waiting.get(producer.transactionalId)
        waiting.delete(producer.transactionalId)
        if (output && (await phases.deliver(...output)) !== undefined) await producer.commit()
      },
    }
  },
  /** The offsets are committed without member and generation: a stale owner is not refused. */
  no_member_fencing: (phases) => ({
    ...phases,
    commitRound(cluster, connections, coordinator, target, ...rest) {
      const assignment = { ...target.assignment, generationId: -1, memberId: '' }
      return lateCommit(phases)(cluster, connections, coordinator, { ...target, assignment }, ...rest)
    },
  }),
  /** After an unclear error the task goes on in the same transaction, without a new epoch. */
  no_new_epoch: (phases) => ({
    ...withProducer(phases, ({ initialise }) => ({ initialise: (takeOver) => (takeOver ? initialise(true) : Promise.resolve()) })),
    commitRound: lateCommit(phases),
  }),
  /** Every batch has sequence 0. */
  no_sequences: (phases) => withProducer(phases, () => ({ takeSequence: () => 0 })),
  /** The output is written outside the transaction. */
  output_outside_transaction: (phases) => ({
    ...phases,
    deliver(connections, writes, layouts) {
      for (const { batch } of writes) Buffer.from(batch.bytes, 0, batch.length).writeInt16BE(0, ATTRIBUTES_AT)
      const noProducer = { transactionalId: null, producerId: -1n, producerEpoch: -1, takeSequence: () => -1 }
      return phases.deliver(connections, writes, layouts, noProducer)
    },
  }),
  /** A commit that got no answer is assumed to have succeeded. */
  assume_committed: (phases) =>
    withProducer(phases, ({ commit, initialise }) => ({
      commit: () =>
        commit().catch((error: unknown) => {
          if (interruptionOf(error).kind !== 'transaction_broken' || !reasonOf(error).startsWith('no answer')) throw error
          return initialise(false)
        }),
    })),
  /** Aborted batches of the source are processed. */
  count_aborted: (phases) => ({
    ...phases,
    createFetch(...parameters) {
      const fetch = phases.createFetch(...parameters)
      return async (...request) => {
        const answer = await fetch(...request)
        return { ...answer, partitions: answer.partitions.map((partition) => ({ ...partition, aborted: [] })) }
      }
    },
  }),
  /** A failed record is dropped without a dead letter. */
  drop_failed: (phases) => ({
    ...phases,
    deliver: (connections, writes, ...rest) =>
      phases.deliver(
        connections,
        writes.filter(({ topic }) => !topic.endsWith('.dead-letters')),
        ...rest,
      ),
  }),
  /** The batches of a partition are written in reverse order. */
  reverse_batches: (phases) => ({
    ...phases,
    deliver: (connections, writes, ...rest) => phases.deliver(connections, writes.toReversed(), ...rest),
  }),
  /** A new owner starts at the end of the topic. */
  start_at_end: (phases) => ({
    ...phases,
    async loadPositions(cluster, definition, layout, owned, ...rest) {
      const loaded = await phases.loadPositions(cluster, definition, layout, owned, ...rest)
      return { ...loaded, positions: await cluster.offsets(layout, [...owned.partitions], 'latest') }
    },
  }),
  /** A dropped round is not replayed. */
  skip_dropped_round(phases) {
    const attempted = new Map<string, bigint>()
    return {
      ...phases,
      commitRound(cluster, connections, coordinator, target, offsets, producer) {
        for (const { partition, offset } of offsets) attempted.set(`${target.groupId}/${partition}`, offset)
        return phases.commitRound(cluster, connections, coordinator, target, offsets, producer)
      },
      async loadPositions(...parameters) {
        const loaded = await phases.loadPositions(...parameters)
        for (const [partition, offset] of loaded.positions) {
          const later = attempted.get(`${parameters[1].group_id}/${partition}`) ?? 0n
          if (later > offset) loaded.positions.set(partition, later)
        }
        return loaded
      },
    }
  },
  /** The counters of a round are added twice. */
  count_twice: (phases) => ({
    ...phases,
    createAccounting(...parameters) {
      const accounting = phases.createAccounting(...parameters)
      const { add } = accounting
      accounting.add = (partition, counts) => {
        add(partition, counts)
        add(partition, counts)
      }
      return accounting
    },
  }),
} satisfies Record<string, Wrap>

export type Mutation = keyof typeof MUTATIONS
