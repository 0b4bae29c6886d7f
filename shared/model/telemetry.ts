/** What SmartModules log and measure: levels, limits and names. Plain values, because lanes load this. */

/** The levels of a line, from the least important to the most. */
export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const
/** A level of a line. */
export type LogLevel = (typeof LOG_LEVELS)[number]

/** Longest line, in characters; what is longer is cut. */
export const LOG_CHARACTERS_MAX = 1000

/** The line, cut to the longest one, without NUL. */
export const cutLine = (text: string): string =>
  (text.length > LOG_CHARACTERS_MAX ? `${text.slice(0, LOG_CHARACTERS_MAX)}…` : text).replaceAll('\0', '\uFFFD')

/** Names that a SmartModule may measure under, as Prometheus wants them. */
export const MEASURE_NAME = /^[a-z][a-z0-9_]{0,62}$/
/** Different names of one step; further ones are not kept. */
export const MEASURES_MAX = 20
/** `count` adds up, `observe` is a summary. */
export const MEASURE_KINDS = ['count', 'observe'] as const

/** What begins the names of what the service itself counts for a step. */
export const OWN_MEASURES = 'dps_'
/** How long a step took, and over how many records, since its task started: the service's own, which `/accounting` shows per record. */
export const STEP_MEASURES = { nanoseconds: 'dps_step_nanoseconds', records: 'dps_step_records' } as const
/** Whether the service shows what is measured under this name in another way. */
export const isOfStepTimes = (name: string): boolean => name === STEP_MEASURES.nanoseconds || name === STEP_MEASURES.records
/** What is counted of a canary that gets a share of the records, beside what its SmartModule measures. */
export const CANARY_MEASURES = {
  records: 'dps_canary_records',
  failed: 'dps_canary_failed',
  off: 'dps_canary_off',
  /** Of one that was taken off because it failed too many: how many of how many, once for each `off`. */
  offFailed: 'dps_canary_off_failed',
  offRecords: 'dps_canary_off_records',
} as const

/** Adds to a sum that stays a number of JSON whatever is added. */
export const addUp = (sum: number, value: number): number => Math.max(-Number.MAX_VALUE, Math.min(Number.MAX_VALUE, sum + value))

/** What a step has counted or observed under a name since its task started: how often, and the sum of the values. `step` counts from 1. */
export type Measure = { step: number; name: string; kind: (typeof MEASURE_KINDS)[number]; times: number; sum: number }
