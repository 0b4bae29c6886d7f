/**
 * A task's transactions, one after the other: what is delivered and the offsets that are committed after it become visible together, or
 * not at all. After any doubt `startOver` gives the producer a fresh epoch, and nothing of the transaction counts (decision 004).
 */
import type { Cluster, Connections } from '../../../shared/kafka/cluster.ts'
import type { TxnOffset } from '../../../shared/kafka/wire/txn-offset-commit.ts'
import { reasonOf } from '../../../shared/errors/reason-of.ts'
import { interruptionOf } from '../interruption.ts'
import type { Phases } from '../phases.ts'
import type { CommitTarget, GroupCoordinator } from './commit.ts'
import type { TopicWrite } from './deliver.ts'
import type { Layouts } from './layouts.ts'

export type Transactions = {
  readonly layouts: Layouts
  readonly connections: Connections
  /** Fences every other holder of the transactional id. Called once, when the task starts. */
  takeOver(): Promise<void>
  /**
   * Adds batches to the transaction. Answers how long, in milliseconds, the first of each partition was on its way; undefined where there
   * was nothing to write.
   */
  deliver(writes: readonly TopicWrite[]): Promise<number | undefined>
  /** Adds consumed offsets to the transaction and commits it. */
  commit(target: CommitTarget, offsets: TxnOffset[]): Promise<void>
  /** Commits what was delivered, without offsets. */
  commitWithoutOffsets(): Promise<void>
  /** Makes the next transaction possible after anything was in doubt. Throws while that fails: it must be called again. */
  startOver(): Promise<void>
}

export type TransactionsOptions = {
  cluster: Cluster
  connections: Connections
  layouts: Layouts
  transactionalId: string
  phases: Phases
  log: (level: 'info' | 'warn', message: string) => void
}

export function openTransactions({ cluster, connections, layouts, transactionalId, phases, log }: TransactionsOptions): Transactions {
  const producer = phases.createProducer(cluster, connections, transactionalId)
  const coordinator: GroupCoordinator = { nodeId: undefined }
  return {
    layouts,
    connections,
    takeOver: () => producer.initialise(true),
    deliver: (writes) => phases.deliver(connections, writes, layouts, producer),
    commit: (target, offsets) => phases.commitRound(cluster, connections, coordinator, target, offsets, producer),
    commitWithoutOffsets: () => producer.commit(),
    async startOver() {
      coordinator.nodeId = undefined
      // Leaders may have moved without a broker reporting it: a dead broker sends no answer.
      await layouts.refresh().catch((error: unknown) => {
        if (interruptionOf(error).kind === 'failed') throw error
        log('warn', `the leaders are not known yet: ${reasonOf(error)}`)
      })
      await producer.initialise(false)
    },
  }
}
