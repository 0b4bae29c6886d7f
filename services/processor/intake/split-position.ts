/**
 * A split's position as the metadata of its committed offset; one that is too long for it goes to the topic of what was seen, in the same
 * transaction, and the metadata say so.
 */
import { z } from 'zod'

const Metadata = z.union([z.object({ v: z.literal(1), s: z.string() }), z.object({ v: z.literal(2) })])

/** Of a broker's `offset.metadata.max.bytes`, 4,096 unless it was set otherwise. */
const METADATA_BYTES_MAX = 4000

export const isLong = (position: string): boolean => Buffer.byteLength(withPosition(position)) > METADATA_BYTES_MAX

/**
 * Undefined before anything was read. `long` is the split's position in the topic, if it has one there. Throws for metadata that is not
 * ours, and for a long position that is missing: a position is never guessed.
 */
export function positionIn(metadata: string, long: string | undefined): string | undefined {
  if (metadata === '') return undefined
  const told = Metadata.parse(JSON.parse(metadata))
  if (told.v === 1) return told.s
  if (long === undefined) throw new Error('the position of the split is missing in the topic of what was seen')
  return long
}

export const withPosition = (position: string | undefined): string => (position === undefined ? '' : JSON.stringify({ v: 1, s: position }))

/** In place of a long one. */
export const POSITION_IN_TOPIC = JSON.stringify({ v: 2 })
