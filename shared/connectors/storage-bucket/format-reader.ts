/** What a format of objects is: fed with chunks of bytes, it finds the records and knows the place behind the last one. */

/** The object is not what its format says, from some place on: what is behind it can't be read. The records before it are good. */
export class ObjectMalformed extends Error {}

/** `b`: bytes of the object behind the last record; `n`: records so far. */
export type FormatPlace = { b: number; n: number }

export type FormatReader = {
  /** It can begin behind any record, given the bytes from there on; otherwise it is given the whole object again. */
  canResume: boolean
  /** Called once, first: where the bytes begin, and how many records are behind already. Answers what tells the place. */
  begin(bytes: number, records: number): () => FormatPlace
  add(chunk: Buffer): void | Promise<void>
  /** The object is at its end. Throws where it ends in the middle of something. */
  end(): void | Promise<void>
}

/** A record of more bytes is refused while it is read: an endless line must not fill the memory. */
export const RECORD_BYTES_MAX = 7 << 20
