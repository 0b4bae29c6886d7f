/** Two tasks, or two control planes, may make the same thing at once: one of them gets a conflict with the other's catalogue rows. */

/**
 * SQLSTATEs of that: unique_violation, duplicate_table, duplicate_object (a table's type), duplicate_schema, and XX000 for "tuple
 * concurrently updated".
 */
const MADE_MEANWHILE = new Set(['23505', '42P07', '42710', '42P06', 'XX000'])

/** Whether the error of a `CREATE … IF NOT EXISTS` says that another session has made it meanwhile. */
export const isMadeMeanwhile = (error: unknown): boolean => MADE_MEANWHILE.has(String((error as { code?: unknown }).code))
