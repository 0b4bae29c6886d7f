/**
 * A task's transactional producer: its identity at the broker, the sequences of the transaction under way, and the two ways of
 * initialising it. Transactions V2 (KIP-890) only: the epoch grows with every transaction, sequences restart at 0.
 */
import type { Connection } from '../../../shared/kafka/client-library.ts'
import type { Cluster, Connections } from '../../../shared/kafka/cluster.ts'
import { KafkaError } from '../../../shared/kafka/kafka-error.ts'
import { KAFKA_ERRORS, hasMoved, kafkaErrorName } from '../../../shared/kafka/wire/error-codes.ts'
import { endTransaction } from '../../../shared/kafka/wire/end-txn.ts'
import { reasonOf } from '../../../shared/errors/reason-of.ts'
import { Interrupted } from '../interruption.ts'

export type Producer = {
  readonly transactionalId: string
  readonly producerId: bigint
  readonly producerEpoch: number
  /** The sequence of a partition's next record; advances it by `records`. */
  takeSequence(topic: string, partition: number, records: number): number
  /** Takes over the id (at a task's start), or continues after a failure with its own id and epoch, so that a zombie can't take it back. */
  initialise(takeOver: boolean): Promise<void>
  /** Commits the transaction under way; it is never aborted (decision 004). Throws `transaction_broken` when its end is not certain. */
  commit(): Promise<void>
}

/** Well above the 8 s that a request may take, and short enough that a dead task's transaction does not hold readers up for long. */
const TRANSACTION_TIMEOUT_MS = 15_000
const END_RETRIES_MAX = 200

export function createProducer(cluster: Cluster, connections: Connections, transactionalId: string): Producer {
  let producerId = -1n
  let producerEpoch = -1
  let coordinator: number | undefined
  const sequences = new Map<string, number>()

  async function coordinatorConnection(): Promise<Connection> {
    coordinator ??= await cluster.transactionCoordinator(transactionalId)
    return connections.leader(coordinator)
  }

  /** Looks the coordinator up again for each attempt: it may have moved. */
  function freshConnection(): Promise<Connection> {
    coordinator = undefined
    return coordinatorConnection()
  }

  function next(id: bigint, epoch: number): void {
    producerId = id
    producerEpoch = epoch
    sequences.clear()
  }

  return {
    transactionalId,
    get producerId() {
      return producerId
    },
    get producerEpoch() {
      return producerEpoch
    },
    takeSequence(topic, partition, records) {
      const key = `${topic}/${partition}`
      const sequence = sequences.get(key) ?? 0
      sequences.set(key, sequence + records)
      return sequence
    },
    async initialise(takeOver) {
      const id = takeOver ? -1n : producerId
      const epoch = takeOver ? -1 : producerEpoch
      try {
        const answer = await cluster.initProducer(freshConnection, transactionalId, TRANSACTION_TIMEOUT_MS, id, epoch)
        next(answer.producerId, answer.producerEpoch)
      } catch (error) {
        // D5: fencing decides. A refused epoch means that another processor holds this task now.
        if (
          error instanceof KafkaError &&
          (error.code === KAFKA_ERRORS.producerFenced || error.code === KAFKA_ERRORS.invalidProducerEpoch)
        ) {
          throw new Interrupted('taken_over', `transactional id ${transactionalId} was taken over`)
        }
        throw error
      }
    },
    async commit() {
      for (let attempt = 0; ; attempt++) {
        const answer = await endTransaction(await coordinatorConnection(), transactionalId, producerId, producerEpoch, true).catch(
          (error: unknown) => {
            // It may have been committed or not: only a new epoch makes sure that a delayed EndTxn can't end a later transaction.
            throw new Interrupted('transaction_broken', `no answer to EndTxn: ${reasonOf(error)}`)
          },
        )
        if (answer.errorCode === 0) {
          // Transactions V2 (KIP-890): the answer has the producer id and epoch of the next transaction.
          return next(answer.producerId, answer.producerEpoch)
        }
        if (answer.errorCode === KAFKA_ERRORS.producerFenced)
          throw new Interrupted('taken_over', `transactional id ${transactionalId} was taken over`)
        const waits =
          answer.errorCode === KAFKA_ERRORS.concurrentTransactions ||
          answer.errorCode === KAFKA_ERRORS.coordinatorLoadInProgress ||
          hasMoved(answer.errorCode)
        if (!waits || attempt >= END_RETRIES_MAX) throw new Interrupted('transaction_broken', `EndTxn: ${kafkaErrorName(answer.errorCode)}`)
        if (hasMoved(answer.errorCode)) coordinator = undefined
        await new Promise((resolve) => setTimeout(resolve, Math.min(5 + attempt, 50)))
      }
    },
  }
}
