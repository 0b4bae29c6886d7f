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
/** A stream's next schema is told with the pipeline's next revision, which may come after the first records that are written with it. */
const WAIT_MS = 8000

export function openDecoder(codec: NonNullable<PipelineDefinition['source_codec']>): SectionDecoder {
  const decode = openValueDecoder(codec)
  let unknownSince: number | undefined
  const decoded = (value: Buffer, nowMs: number): Buffer => {
    try {
      return decode(value)
    } catch (error) {
      if (error instanceof UnknownSchema) {
        unknownSince ??= nowMs
        if (nowMs - unknownSince < WAIT_MS) throw error
      }
      return UNREADABLE
    }
  }
  return (section, count, nowMs) =>
    encodeRecords(decodeRecords(section, count).map((record) => ({ ...record, value: record.value && decoded(record.value, nowMs) })))
}
