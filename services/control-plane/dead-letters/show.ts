/** A dead letter as the API shows it. */
import { shownBytes, type ShownBytes } from '../shown/bytes.ts'
import { showKey, showValue, type Decode } from '../shown/records.ts'
import { deadLetterId } from '../store/dead-letter-id.ts'
import { type DeadLetterRow } from '../store/dead-letters.ts'

/** `room`: for what values become when they are decoded; their own bytes are bounded by the page. */
export const showDeadLetter = (row: DeadLetterRow, decode: Decode | undefined, room: ShownBytes = shownBytes()) => ({
  id: deadLetterId(row),
  partition: row.partition,
  offset: Number(row.record_offset),
  step: row.step,
  module: row.module,
  version: row.version,
  revision: row.revision,
  error: { code: row.error_code, message: row.error_message },
  attempts: row.attempts,
  redrives: row.redrives,
  failed_at: row.failed_at,
  key: showKey(row.key),
  value: showValue(row.value, decode && room, decode),
  headers: row.headers,
  // Copies of a dead letter are never shown, only the dead letter itself.
  status: row.status === 'copy' ? 'pending' : row.status,
  job_id: row.job_id,
})
