/** The broker's error codes that the code acts on. https://kafka.apache.org/protocol#protocol_error_codes */
export const KAFKA_ERRORS = {
  none: 0,
  offsetOutOfRange: 1,
  unknownTopicOrPartition: 3,
  leaderNotAvailable: 5,
  notLeaderOrFollower: 6,
  requestTimedOut: 7,
  messageTooLarge: 10,
  offsetMetadataTooLarge: 12,
  coordinatorLoadInProgress: 14,
  coordinatorNotAvailable: 15,
  notCoordinator: 16,
  notEnoughReplicas: 19,
  notEnoughReplicasAfterAppend: 20,
  illegalGeneration: 22,
  unknownMemberId: 25,
  rebalanceInProgress: 27,
  invalidTimestamp: 32,
  outOfOrderSequence: 45,
  duplicateSequence: 46,
  invalidProducerEpoch: 47,
  invalidTxnState: 48,
  invalidProducerIdMapping: 49,
  concurrentTransactions: 51,
  kafkaStorageError: 56,
  unknownProducerId: 59,
  invalidRecord: 87,
  unstableOffsetCommit: 88,
  producerFenced: 90,
  unknownTopicId: 100,
  transactionAbortable: 120,
} as const

/** Codes after which the same request may soon succeed, on the same or another broker. */
const RETRIABLE: ReadonlySet<number> = new Set([3, 5, 6, 7, 14, 15, 16, 19, 20, 51, 56, 88, 100])

/** True when the same request may soon succeed, on the same or another broker. */
export function isRetriable(code: number): boolean {
  return RETRIABLE.has(code)
}

/**
 * Codes that end a transaction, whatever was to be written in it: those of transactions, and what Kafka calls retriable or unknown. The
 * same may go through in the next one.
 */
const OF_TRANSACTION: ReadonlySet<number> = new Set([-1, 2, 9, 13, 45, 46, 47, 48, 49, 59, 72, 74, 75, 120])

/** True when the same may go through in another transaction. */
export function isOfTransaction(code: number): boolean {
  return OF_TRANSACTION.has(code)
}

/** Codes after which metadata or the coordinator must be looked up again. */
const MOVED: ReadonlySet<number> = new Set([3, 5, 6, 15, 16, 100])

/** True when the leader or coordinator may have changed, so that it must be looked up again. */
export function hasMoved(code: number): boolean {
  return MOVED.has(code)
}

/** The code with its name, for error texts and logs. */
export function kafkaErrorName(code: number): string {
  const name = Object.entries(KAFKA_ERRORS).find(([, value]) => value === code)?.[0]
  return name === undefined ? `Kafka error ${code}` : `${name} (Kafka error ${code})`
}

/** The broker's code in an error thrown by the client library; undefined when the error does not come from a broker's answer. */
export function brokerErrorCode(error: unknown): number | undefined {
  if (typeof error !== 'object' || error === null) return undefined
  const { apiCode, errors, cause } = error as { apiCode?: unknown; errors?: unknown; cause?: unknown }
  if (typeof apiCode === 'number') return apiCode
  if (Array.isArray(errors)) {
    for (const each of errors) {
      const code = brokerErrorCode(each)
      if (code !== undefined) return code
    }
  }
  return cause === undefined ? undefined : brokerErrorCode(cause)
}
