/** Headers of a record that a change of a table made. */
export const CHANGE_HEADERS = {
  /** `snapshot` for a row that was there before, else `insert`, `update` or `delete`. */
  op: 'dps.op',
  /** When the change was committed there, RFC 3339 with microseconds; absent of a snapshot. */
  commitTime: 'dps.commit_time',
} as const

export type ChangeOperation = 'snapshot' | 'insert' | 'update' | 'delete'
