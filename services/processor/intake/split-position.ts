/** A split's position as the metadata of its committed offset. */
import { z } from 'zod'

const Metadata = z.object({ v: z.literal(1), s: z.string() })

/** Undefined before anything was read. Throws for metadata that is not ours: a position is never guessed. */
export function positionIn(metadata: string): string | undefined {
  return metadata === '' ? undefined : Metadata.parse(JSON.parse(metadata)).s
}

export const withPosition = (position: string | undefined): string => (position === undefined ? '' : JSON.stringify({ v: 1, s: position }))
