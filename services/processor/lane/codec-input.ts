/**
 * Source values that are no JSON, as JSON for the chain: one record after the other, with objects. What can't be read becomes a value that no
 * step and no sink takes, so that it is a dead letter with its own bytes.
 */
import { decodeRecords, encodeRecords } from '../../../shared/kafka/protocol/record-batch.ts'
import type { PipelineDefinition } from '../../../shared/model/definition.ts'
import { openValueDecoder, UnknownSchema } from '../../../shared/registry/codecs.ts'

/** Takes a records section and answers another with the same records. Throws UnknownSchema while one may still be told of. */
export type SectionDecoder = (section: Buffer, count: number, nowMs: number) => Buffer

/** Shorter than a frame: refused wherever one is expected. */
const UNREADABLE = Buffer.from([0xff])
const UNKNOWN_MAX = 100
/** A stream's next schema is told with the pipeline's next revision, which may come after the first records that are written with it. */
const WAIT_MS = 20_000

export function openDecoder(codec: NonNullable<PipelineDefinition['source_codec']>): SectionDecoder {
  const decode = openValueDecoder(codec)
  /** By schema, when it was met first: one that never comes must not take the others' patience. */
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
