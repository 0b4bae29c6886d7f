/** What happens to a record that a step fails on. Kept apart from `definition.ts`, so that lanes load no schemas. */
export const POLICIES = ['dead_letter', 'skip', 'retry', 'fail'] as const
/** What happens to a failed record. */
export type Policy = (typeof POLICIES)[number]
/** A failure policy; `backoff_ms` is in milliseconds. */
export type OnError = { policy: Policy; retries_max: number; backoff_ms: number }
/** The failure policy of a pipeline whose request names none. */
export const ON_ERROR_DEFAULT: OnError = { policy: 'dead_letter', retries_max: 3, backoff_ms: 200 }
