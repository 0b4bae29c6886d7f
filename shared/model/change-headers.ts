/** Names of the headers on records that stem from a change of a database table. */
export const CHANGE_HEADERS = {
  /** `snapshot` for a row that existed before, else `insert`, `update` or `delete`. */
  op: 'dps.op',
  /** When the database committed the change, in RFC 3339 with microseconds; absent for a snapshot. */
  commitTime: 'dps.commit_time',
} as const

/** The values of the header `dps.op`. */
export type ChangeOperation = 'snapshot' | 'insert' | 'update' | 'delete'
