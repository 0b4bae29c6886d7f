/** What becomes of a round's outcomes: written to a topic at once (`topic-writer.ts`), or held for an external sink (`row-writer.ts`). */
import type { PartitionOutcome } from '../../lane/messages.ts'
import type { Running } from '../running.ts'

export type RoundWriter = {
  /**
   * Takes a round's outcomes over. Resolves once they are committed or held; `release` is called as soon as what they were made of is not
   * needed any more. `inputBytes`: of the round, as fetched.
   */
  take(running: Running, outcomes: PartitionOutcome[], inputBytes: number, release: () => void): Promise<void>
  /** Something that is held has come to a boundary. */
  isDue(): boolean
  /** Writes and commits what is due, or all that is held. */
  flush(running: Running, isAll: boolean): Promise<void>
  /** How long the next round is to wait, in milliseconds, after one of so many bytes. */
  waitMs(inputBytes: number): number
  /** Discards what is held; it will be fetched again. */
  drop(): void
}
