/**
 * EndTxn v5 (KIP-890): ends a transaction and returns the producer id and epoch that the next one uses.
 * Protocol: https://kafka.apache.org/protocol#The_Messages_EndTxn
 */
import { createAPI, Writer, type Connection, type Reader } from '../client-library.ts'

/** The broker's answer: an error code, and the producer id and epoch for the next transaction (KIP-890). */
export type EndTxnAnswer = { errorCode: number; producerId: bigint; producerEpoch: number }

function createRequest(transactionalId: string, producerId: bigint, producerEpoch: number, commit: boolean): Writer {
  return Writer.create()
    .appendString(transactionalId, true)
    .appendInt64(producerId)
    .appendInt16(producerEpoch)
    .appendBoolean(commit)
    .appendTaggedFields()
}

function parseResponse(_correlationId: number, _apiKey: number, _apiVersion: number, reader: Reader): EndTxnAnswer {
  reader.readInt32()
  return { errorCode: reader.readInt16(), producerId: reader.readInt64(), producerEpoch: reader.readInt16() }
}

const api = createAPI<[string, bigint, number, boolean], EndTxnAnswer>(26, 5, createRequest, parseResponse)

/** Commits or aborts the transaction. Rejects when the connection fails: the outcome is then unknown, the producer must re-initialise. */
export function endTransaction(
  connection: Connection,
  transactionalId: string,
  producerId: bigint,
  producerEpoch: number,
  commit: boolean,
): Promise<EndTxnAnswer> {
  return api.async(connection, transactionalId, producerId, producerEpoch, commit)
}
