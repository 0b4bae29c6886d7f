/** How many entries or rows to ask a server for, whose sizes are known only from earlier answers. */

/** What the answers should stay within: bytes as a rule, and a number always. */
export type AnswerSize = { bytes: number; countMax: number }

/** At most twice as many as the last time: those that come may be larger than those that came. */
export const nextCount = (asked: number, answered: { count: number; bytes: number }, { bytes, countMax }: AnswerSize): number =>
  answered.count === 0
    ? asked
    : Math.max(1, Math.min(2 * asked, countMax, Math.floor((bytes * answered.count) / Math.max(1, answered.bytes))))
