/**
 * Decodes non-JSON source values to JSON for the chain, record by record, allocating objects. A value that can't be read becomes one that
 * every step and sink refuses, so that its record becomes a dead letter with the original bytes.
 */
import { decodeRecords, encodeRecords } from '../../../shared/kafka/protocol/record-batch.ts'
import type { SourceCodec } from '../../../shared/model/definition.ts'
import { openValueDecoder, UnknownSchema } from '../../../shared/registry/codecs.ts'

/** Returns a records section with the same records, decoded. Throws UnknownSchema while an unknown schema may still be announced. */
export type SectionDecoder = (section: Buffer, count: number, nowMs: number) => Buffer

/** Shorter than a frame: refused wherever a frame is expected. */
const UNREADABLE = Buffer.from([0xff])
const UNKNOWN_MAX = 100
/** A stream's next schema comes with the pipeline's next revision, which may arrive after the first records written with that schema. */
const WAIT_MS = 20_000

export function openDecoder(codec: SourceCodec): SectionDecoder {
  const decode = openValueDecoder(codec)
  /** By schema id, when it was first met: one that never arrives must not use up the waiting time of the others. */
  const unknownSince = new Map<number, number>()
  const decoded = (value: Buffer, nowMs: number): Buffer => {
    try {
      return decode(value)
    } catch (error) {
      if (error instanceof UnknownSchema) {
        const since = unknownSince.get(error.id) ?? nowMs
        if (unknownSince.size < UNKNOWN_MAX) unknownSince.set(error.id, since)
        if (nowMs - since < WAIT_MS && unknownSince.has(error.id)) throw error
      }
      return UNREADABLE
    }
  }
  return (section, count, nowMs) =>
    encodeRecords(decodeRecords(section, count).map((record) => ({ ...record, value: record.value && decoded(record.value, nowMs) })))
}
