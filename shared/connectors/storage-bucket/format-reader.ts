/** The contract of an object format: it gets chunks of bytes, finds the records, and knows the position after the last one. */

/** From some position on, the object does not follow its format: the rest can't be read. The records before it are valid. */
export class ObjectMalformed extends Error {}

/**
 * `b`: the object's bytes up to the end of the last record; `n`: its records (lines, for formats of lines) so far; `a`: whether the object
 * is a JSON array, one that has ended, or documents.
 */
export type FormatPosition = { b: number; n: number; a?: 'array' | 'closed' | 'documents' }

/** Turns an object’s bytes into records. */
export type FormatReader = {
  /** Whether it can start after any record, given the bytes from there on; otherwise it is given the whole object again. */
  canResume: boolean
  /** Called once, first: where the bytes begin, and what was read before. Returns a function that gives the position. */
  begin(from: FormatPosition): () => FormatPosition
  add(chunk: Buffer): void | Promise<void>
  /** The object has ended: what is left is added or refused. May throw ObjectMalformed. */
  end(): void | Promise<void>
}

/** Encodings of which line breaks, quotes and delimiters are those of ASCII, so that rows are found before they are decoded. */
export const CSV_ENCODINGS = ['utf-8', 'windows-1250', 'windows-1251', 'windows-1252', 'iso-8859-15'] as const
