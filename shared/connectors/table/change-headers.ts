/** Headers of the records of a table's changes, built once per transaction. */
import { encodeHeaders } from '../../kafka/protocol/record-batch.ts'
import { CHANGE_HEADERS, type ChangeOperation } from '../../model/change-headers.ts'
import { instantOf } from '../../model/times.ts'

/** Encoded headers of a transaction’s records, by operation. */
export type ChangeHeaders = Record<Exclude<ChangeOperation, 'snapshot'>, Uint8Array>

/** Headers of rows that were there before the slot was. */
export const SNAPSHOT_HEADERS = encodeHeaders([[CHANGE_HEADERS.op, Buffer.from('snapshot')]])

/** `committedAt`: microseconds since 1970. */
export function createChangeHeaders(committedAt: bigint): ChangeHeaders {
  const commitTime = Buffer.from(instantOf(committedAt, 6))
  const of = (operation: ChangeOperation) =>
    encodeHeaders([
      [CHANGE_HEADERS.op, Buffer.from(operation)],
      [CHANGE_HEADERS.commitTime, commitTime],
    ])
  return { insert: of('insert'), update: of('update'), delete: of('delete') }
}
