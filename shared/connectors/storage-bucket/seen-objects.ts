/**
 * Remembers which objects were read. Each has an entry with its modification time, until it is a day older than the newest object. From
 * then on its time alone shows that it was read, so that neither memory nor the topic of entries grows with the bucket.
 */
import type { SeenView } from '../seen-entries.ts'
import type { ObjectInfo } from './object-store.ts'

/** How long entries are kept: an upload in parts may be listed with the time at which it began. */
const KEPT_MS = 24 * 3_600_000

/** `readBefore`: all objects modified before this time have been read. */
export function isRead(seen: SeenView, { key, etag, modifiedAt }: ObjectInfo, readBefore: number): boolean {
  const found = seen.compare(key, etag)
  return found === 'unseen' ? modifiedAt < readBefore : found === 'same'
}

/**
 * The time before which entries are to be forgotten once all objects of a listing were read, the newest of which was modified at `newest`;
 * undefined while it is not worth it.
 */
export function forgettable(seen: SeenView, newest: number): number | undefined {
  const before = newest - KEPT_MS
  return before > 0 && seen.isForgettingDue(before) ? before : undefined
}
