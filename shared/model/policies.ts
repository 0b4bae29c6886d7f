/** What happens to a record that a step fails on. Apart from the definition, so that lanes load no schemas. */
export const POLICIES = ['dead_letter', 'skip', 'retry', 'fail'] as const
export type Policy = (typeof POLICIES)[number]
export type OnError = { policy: Policy; retries_max: number; backoff_ms: number }
export const ON_ERROR_DEFAULT: OnError = { policy: 'dead_letter', retries_max: 3, backoff_ms: 200 }
