/** The contract of an object store: an S3-compatible store, or a folder. */
import type { Readable } from 'node:stream'

/** `etag` changes with the content. */
export type ObjectInfo = { key: string; etag: string; size: number; modifiedAt: number }

/** A bucket, or a folder that stands in for one. */
export type ObjectStore = {
  /** Page by page, in the order of the keys. */
  list(prefix: string, signal: AbortSignal): AsyncIterable<ObjectInfo[]>
  /** The bytes from offset `from` on. Throws ObjectChanged if the object is no longer the one that was listed, and ObjectWithheld. */
  read(object: ObjectInfo, from: number, signal: AbortSignal): Promise<Readable>
  /** Writes an object that must not exist yet; returns false if it does. */
  putNew(key: string, body: Uint8Array, metadata: Record<string, string>, signal: AbortSignal): Promise<boolean>
  /** The metadata written with the object; undefined if the object does not exist. */
  metadataOf(key: string, signal: AbortSignal): Promise<Record<string, string> | undefined>
  close(): void
}

/** The object was deleted or replaced after it was listed. */
export class ObjectChanged extends Error {}

/**
 * The store does not give this object out: it is archived, or this key may not read it. `isForbidden`: perhaps none of the others either.
 */
export class ObjectWithheld extends Error {
  readonly isForbidden: boolean
  constructor(message: string, isForbidden: boolean) {
    super(message)
    this.isForbidden = isForbidden
  }
}
