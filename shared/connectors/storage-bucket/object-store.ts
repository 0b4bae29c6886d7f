/** Where objects lie: an S3-compatible store, or a folder. */
import type { Readable } from 'node:stream'

/** `etag` changes with the content. */
export type ObjectInfo = { key: string; etag: string; size: number; modifiedAt: number }

export type ObjectStore = {
  /** Page by page, in the order of the keys. */
  list(prefix: string, signal: AbortSignal): AsyncIterable<ObjectInfo[]>
  /** The bytes from a place on. Throws ObjectChanged when the object is not the one that was listed. */
  read(object: ObjectInfo, from: number, signal: AbortSignal): Promise<Readable>
  /** Writes an object that must not be there yet; false when one is. */
  putNew(key: string, body: Uint8Array, metadata: Record<string, string>, signal: AbortSignal): Promise<boolean>
  /** What was written with the object; undefined when there is none. */
  metadataOf(key: string, signal: AbortSignal): Promise<Record<string, string> | undefined>
  close(): void
}

/** Deleted or replaced since it was listed. */
export class ObjectChanged extends Error {}
