/** Where a walk through a stream goes on: per partition the next offset. Opaque to clients. */
import { z } from 'zod'
import { invalidRequest } from '../../../shared/errors/service-error.ts'

const Cursor = z.strictObject({
  s: z.string(),
  o: z
    .array(z.string().regex(/^\d{1,19}$/))
    .min(1)
    .max(64),
})

export function encodeCursor(streamId: string, offsets: readonly bigint[]): string {
  return Buffer.from(JSON.stringify({ s: streamId, o: offsets.map(String) })).toString('base64url')
}

/** Throws 400 for anything but a cursor of this stream. */
export function decodeCursor(text: string, streamId: string, partitions: number): bigint[] {
  try {
    const parsed = Cursor.parse(JSON.parse(Buffer.from(text, 'base64url').toString('utf8')))
    if (parsed.s === streamId && parsed.o.length === partitions) return parsed.o.map(BigInt)
  } catch {
    // Said below.
  }
  throw invalidRequest([{ path: '/query/cursor', message: 'is not a cursor of this stream' }])
}
