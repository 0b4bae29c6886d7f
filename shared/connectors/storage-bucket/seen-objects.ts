/**
 * Which objects were read. Every one has an entry, with its time, until it is a day older than the newest: from then on the time alone
 * says that it was read, so that neither memory nor the topic of the entries grows with the bucket.
 */
import type { ObjectInfo } from './object-store.ts'

/** An upload in parts may be listed with the time of its beginning: entries are kept for so long. */
const KEPT_MS = 24 * 3_600_000
/** Entries are forgotten in lots: each lot is a commit. */
const FORGOTTEN_MIN = 1000

const SEPARATOR = ' '

export const seenValue = ({ etag, modifiedAt }: ObjectInfo): string => `${etag}${SEPARATOR}${modifiedAt}`

/** Entries of before have the ETag alone. */
function entryOf(value: string): { etag: string; modifiedAt: number | undefined } {
  const at = value.lastIndexOf(SEPARATOR)
  return at < 0 ? { etag: value, modifiedAt: undefined } : { etag: value.slice(0, at), modifiedAt: Number(value.slice(at + 1)) }
}

export const isEntryOf = (entry: string | undefined, etag: string): boolean => entry !== undefined && entryOf(entry).etag === etag

/** `readBefore`: objects that are older have been read. */
export function isRead(entry: string | undefined, object: ObjectInfo, readBefore: number): boolean {
  return entry === undefined ? object.modifiedAt < readBefore : isEntryOf(entry, object.etag)
}

/** Entries that may be forgotten once all objects of a listing were read, whose newest was modified at `newest`. */
export function staleEntries(seen: ReadonlyMap<string, string>, newest: number): { keys: string[]; before: number } {
  const before = newest - KEPT_MS
  if (before <= 0 || seen.size < FORGOTTEN_MIN) return { keys: [], before: 0 }
  const keys: string[] = []
  for (const [key, value] of seen) {
    const { modifiedAt } = entryOf(value)
    if (modifiedAt !== undefined && modifiedAt < before) keys.push(key)
  }
  return keys.length < FORGOTTEN_MIN ? { keys: [], before: 0 } : { keys, before }
}
