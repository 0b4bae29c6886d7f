/**
 * A split's position, stored as the metadata of its committed offset. A position too long for that goes to the pipeline's seen topic in
 * the same transaction, and the metadata say so.
 */
import { z } from 'zod'
import { Interrupted } from '../interruption.ts'

const Metadata = z.union([z.object({ v: z.literal(1), s: z.string() }), z.object({ v: z.literal(2) })])

/** Below the broker's `offset.metadata.max.bytes`, which is 4,096 by default. */
const METADATA_BYTES_MAX = 4000

/** A batch with nothing but a position fits a topic of Kafka's defaults (`max.message.bytes`, 1 MiB). */
export const POSITION_BYTES_MAX = 900_000

export const isLong = (position: string): boolean => Buffer.byteLength(withPosition(position)) > METADATA_BYTES_MAX

/**
 * Undefined before anything was read. `long`: the split's position in the seen topic, if it has one there. Throws for metadata of another
 * format and for a missing long position: a position is never guessed.
 */
export function positionIn(metadata: string, long: string | undefined): string | undefined {
  if (metadata === '') return undefined
  const parsed = Metadata.parse(JSON.parse(metadata))
  if (parsed.v === 1) return parsed.s
  // What the topic has lost does not come back by asking again.
  if (long === undefined) throw new Interrupted('failed', 'the position of the split is missing from the seen topic')
  return long
}

/** Throws for a position that is too long to be kept: the source gives the same one each time. */
export function assertKept(position: string): void {
  const bytes = Buffer.byteLength(position)
  if (bytes > POSITION_BYTES_MAX)
    throw new Interrupted(
      'failed',
      `the source gives a position (or cursor) of ${bytes} bytes, and one of at most ${POSITION_BYTES_MAX} can be kept`,
    )
}

export const withPosition = (position: string | undefined): string => (position === undefined ? '' : JSON.stringify({ v: 1, s: position }))

/** The metadata of a split whose position is in the seen topic. */
export const POSITION_IN_TOPIC = JSON.stringify({ v: 2 })
