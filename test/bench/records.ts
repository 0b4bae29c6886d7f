/** The benchmark's records: about 165 bytes of JSON after the registry's 5-byte prefix, the same every time. */

/** As many as `RECORDS` says: a multiple of the partitions. */
export const RECORD_COUNT = Number(process.env.RECORDS || 1_000_000)
export const PARTITIONS = 4
export const SCHEMA_ID = 7

const WORDS =
  'lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt ut labore et dolore magna aliqua'.split(' ')

function textOf(id: number): string {
  const words = []
  for (let i = 0; i < 9; i++) words.push(WORDS[(id * 7 + i * 13) % WORDS.length])
  return words.join(' ')
}

export type BenchRecord = { id: number; user: string; amount: number; text: string; ts: string }

export function recordOf(id: number): BenchRecord {
  return { id, user: `user-${id % 5000}`, amount: (id * 37) % 100, text: textOf(id), ts: new Date(1_760_000_000_000 + id).toISOString() }
}

/** The value as a client writes it: magic byte, schema id, JSON. */
export function framed(json: string, schemaId = SCHEMA_ID): Buffer {
  const value = Buffer.allocUnsafe(5 + Buffer.byteLength(json))
  value[0] = 0
  value.writeInt32BE(schemaId, 1)
  value.write(json, 5)
  return value
}

/** Keeps half of the records: what the one-step chain does, in plain JavaScript, for the check of its output. */
export const isKept = ({ amount }: BenchRecord): boolean => amount >= 50
