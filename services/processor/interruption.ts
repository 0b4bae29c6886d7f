/**
 * Why a task's work was interrupted, as one value. The thrower says what happened; only `member/run-assignments.ts` decides what
 * follows.
 */
import { refusalIn } from '../../shared/connectors/refusal.ts'
import { KafkaError } from '../../shared/kafka/kafka-error.ts'
import { isRetriable } from '../../shared/kafka/wire/error-codes.ts'

export type Interruption =
  /** Another holder of the transactional id took over: this task must stop. */
  | { kind: 'taken_over' }
  /** No repetition helps: the pipeline is failed. `quarantined`: the SHA-256 of the SmartModule that caused it. */
  | { kind: 'failed'; quarantined?: string }
  /** The sink refuses, and no repetition helps. */
  | { kind: 'sink_refused' }
  /** The sink is unavailable or busy; nothing is wrong with the records. */
  | { kind: 'sink_away'; afterMs: number }
  /** The sink's own position is not where the task stands: another task wrote meanwhile, or a commit's answer was lost. */
  | { kind: 'sink_moved' }
  /** The source is away: it is asked again for as long as it takes. */
  | { kind: 'source_away' }
  /** The transaction's outcome is unknown or refused. `away`: a partition that was to be written to and has no leader. */
  | { kind: 'transaction_broken'; away?: { topic: string; partition: number } }
  /** The consumer group moved on: the assignment is void, and nothing of the transaction may count. */
  | { kind: 'assignment_lost' }
  /** A lane gave the round up: it is run again from the committed offsets. */
  | { kind: 'round_lost' }
  /** Records of the round are to be attempted again. */
  | { kind: 'retry_later'; afterMs: number }
  /** Too many records failed: the task holds itself back until it is resumed. */
  | { kind: 'threshold_passed' }
  /** Source or sink have other partitions now: the task ends, and the runner starts it again, so that records go by the new count. */
  | { kind: 'partitions_changed' }
  /** The place that the sink writes to has another form now: the task ends, and the runner starts it again, with the sink opened anew. */
  | { kind: 'sink_changed' }
  /** Some partitions have no leader and are not read: their leaders are looked up. */
  | { kind: 'partitions_aside'; isRetriable: boolean }
  /** A later revision than this processor has heard of handled the partition. */
  | { kind: 'revision_behind' }
  /** The brokers are away or moving. */
  | { kind: 'brokers_away' }
  /** Anything else: attempted a bounded number of times. */
  | { kind: 'unknown' }

/** The one error that carries an interruption through asynchronous code. */
export class Interrupted extends Error {
  readonly interruption: Interruption
  constructor(
    interruption: Interruption | Exclude<Interruption['kind'], 'sink_away' | 'retry_later' | 'partitions_aside'>,
    message: string,
  ) {
    super(message)
    this.interruption = typeof interruption === 'string' ? { kind: interruption } : interruption
  }
}

const NETWORK_CODE = /^(PLT_KFK_(NETWORK|TIMEOUT|MULTIPLE|UNEXPECTED_CORRELATION)|E[A-Z]+$)/

/** What an error of any origin means for the task. */
export function interruptionOf(error: unknown): Interruption {
  if (error instanceof Interrupted) return error.interruption
  if (refusalIn(error)) return { kind: 'failed' }
  if (error instanceof KafkaError) return { kind: isRetriable(error.code) ? 'brokers_away' : 'unknown' }
  const code = typeof error === 'object' && error !== null ? (error as { code?: unknown }).code : undefined
  return { kind: typeof code === 'string' && NETWORK_CODE.test(code) ? 'brokers_away' : 'unknown' }
}

const NOTHING_OPEN: ReadonlySet<Interruption['kind']> = new Set([
  'partitions_aside',
  'retry_later',
  'round_lost',
  'sink_away',
  'sink_moved',
  'threshold_passed',
])

/** True where a transaction may be left open, or its end is not known: the producer must start over before the next one. */
export const isInDoubt = ({ kind }: Interruption): boolean => !NOTHING_OPEN.has(kind)

/** True where waiting or starting over may help: nothing is wrong with the pipeline itself. */
export const isPassing = ({ kind }: Interruption): boolean => kind !== 'failed' && kind !== 'sink_refused' && kind !== 'unknown'
