/** The ids of dead letters: where they are in their topic. */
import type { DeadLetterPlace } from './dead-letters.ts'

/** The id of a row: its place in the dead-letter topic. Which rows are of the same failure, `markCopies` knows. */
export const deadLetterId = ({ letter_partition, letter_offset }: DeadLetterPlace): string => `dl_${letter_partition}_${letter_offset}`

const ID = /^dl_(\d{1,6})_(\d{1,18})$/

/** Partition and offset in the dead-letter topic; undefined for text that is not the id of a dead letter. */
export function parseDeadLetterId(id: string): DeadLetterPlace | undefined {
  const parts = ID.exec(id)
  return parts ? { letter_partition: Number(parts[1]), letter_offset: parts[2]! } : undefined
}
