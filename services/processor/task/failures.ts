/** What an error means for the task: final, a matter of the brokers (tried for ever), or neither (tried a bounded number of times). */
import { KafkaError } from '../../../shared/kafka/cluster.ts'
import { isRetriable } from '../../../shared/kafka/wire/error-codes.ts'
import { ChainFailed, RoundLost } from '../lane/ends.ts'
import { Unbalanced } from './accounting.ts'
import { RevisionBehind } from './places.ts'
import { TransactionBroken, Undeliverable } from './producer.ts'
import { AssignmentLost } from './round/commit.ts'
import { PositionLost } from './round/fetch.ts'
import { SinkMoved, SinkRefused, SinkUnavailable } from './sinks.ts'

/** No repetition mends it: the pipeline is failed with this reason. */
export function isFinal(error: unknown): boolean {
  return [ChainFailed, PositionLost, SinkRefused, Undeliverable, Unbalanced].some((kind) => error instanceof kind)
}

const NETWORK_CODE = /^(PLT_KFK_(NETWORK|TIMEOUT|MULTIPLE|UNEXPECTED_CORRELATION)|E[A-Z]+$)/

/** Brokers that are away or moving, a group that is rebalancing, a lane that was lost with another's module. */
export function isEnvironment(error: unknown): boolean {
  if ([TransactionBroken, AssignmentLost, RoundLost, RevisionBehind, SinkMoved, SinkUnavailable].some((kind) => error instanceof kind))
    return true
  if (error instanceof KafkaError) return isRetriable(error.code)
  const code = typeof error === 'object' && error !== null ? (error as { code?: unknown }).code : undefined
  return typeof code === 'string' && NETWORK_CODE.test(code)
}

export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
