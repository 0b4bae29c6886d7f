/** Texts of users, of SmartModules and of other systems: how long they may be, and what can be stored of them. */

/** Longest reason why a task failed or waits, in characters. */
export const REASON_CHARACTERS_MAX = 2000
/** Longest message of a record's failure, in characters. */
export const FAILURE_CHARACTERS_MAX = 1024
/** Longest pattern of such messages, in characters. */
export const PATTERN_CHARACTERS_MAX = 200

/** The text, cut to its first `charactersMax` characters; the last one is whole. */
export const cutText = (text: string, charactersMax: number): string =>
  text.length <= charactersMax ? text : `${text.slice(0, charactersMax).replace(/[\uD800-\uDBFF]$/, '')}…`

/** True for text that can be stored: Postgres refuses NUL, and an unpaired surrogate would come back as another character. */
export const isStorable = (text: string): boolean => !text.includes('\0') && text.isWellFormed()
