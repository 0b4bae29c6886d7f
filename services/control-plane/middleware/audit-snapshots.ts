/** What entries of the audit log keep of resources. Entries can't be deleted for a year, so what is kept of an account has a bound. */
import { createHash } from 'node:crypto'

/** An object as JSON has it. */
export type Body = Record<string, unknown>

export const isBody = (value: unknown): value is Body =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Uint8Array)

/** The largest snapshot of a resource in an entry: of a larger one, size and hash are kept. */
const SNAPSHOT_BYTES_MAX = 8 << 10
/** Snapshots of one account in a day (UTC), in entries of this process: beyond it, only sizes and hashes are kept. */
const BYTES_PER_DAY_MAX = 32 << 20
const DAY_MS = 86_400_000

/** Returns a resource as an entry of the account keeps it. */
export function createSnapshots(now: () => number, bytesPerDayMax = BYTES_PER_DAY_MAX) {
  let today = 0
  const kept = new Map<string, number>()

  return (accountId: string, body: unknown): Body | null => {
    if (!isBody(body)) return null
    const day = Math.floor(now() / DAY_MS)
    if (day !== today) kept.clear()
    today = day
    const text = JSON.stringify(body)
    const before = kept.get(accountId) ?? 0
    const bytes = Buffer.byteLength(text)
    if (text.length <= SNAPSHOT_BYTES_MAX && before + bytes <= bytesPerDayMax) {
      kept.set(accountId, before + bytes)
      return body
    }
    const { id, name } = body
    return { id, name, left_out: { characters: text.length, sha256: createHash('sha256').update(text).digest('hex') } }
  }
}
