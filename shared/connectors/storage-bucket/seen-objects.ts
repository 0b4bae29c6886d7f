/**
 * Remembers which objects were read. Each has an entry with its modification time, until it is a day older than the newest object. From
 * then on its time alone shows that it was read, so that neither memory nor the topic of entries grows with the bucket.
 */
import type { ObjectInfo } from './object-store.ts'

/** How long entries are kept: an upload in parts may be listed with the time at which it began. */
const KEPT_MS = 24 * 3_600_000
/** Entries are forgotten at least this many at a time, because each time costs a commit. */
const FORGOTTEN_MIN = 1000

const SEPARATOR = ' '

/** What is remembered of an object that was read to its end. */
export const seenValue = ({ etag, modifiedAt }: ObjectInfo): string => `${etag}${SEPARATOR}${modifiedAt}`

/** Entries written by earlier versions have only the ETag. */
function entryOf(value: string): { etag: string; modifiedAt: number | undefined } {
  const at = value.lastIndexOf(SEPARATOR)
  return at < 0 ? { etag: value, modifiedAt: undefined } : { etag: value.slice(0, at), modifiedAt: Number(value.slice(at + 1)) }
}

/** Whether the entry is of the object with this ETag. */
export const isEntryOf = (entry: string | undefined, etag: string): boolean => entry !== undefined && entryOf(entry).etag === etag

/** `readBefore`: all objects modified before this time have been read. */
export function isRead(entry: string | undefined, object: ObjectInfo, readBefore: number): boolean {
  return entry === undefined ? object.modifiedAt < readBefore : isEntryOf(entry, object.etag)
}

/** Entries that may be forgotten once all objects of a listing were read; the newest of them was modified at `newest`. */
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
