/**
 * Source values that are no JSON, as JSON for the chain: one record after the other, with objects. What can't be read becomes a value that no
 * step and no sink takes, so that it is a dead letter with its own bytes.
 */
import { decodeRecords, encodeRecords } from '../../../shared/kafka/protocol/record-batch.ts'
import type { PipelineDefinition } from '../../../shared/model/definition.ts'
import { openValueDecoder } from '../../../shared/registry/codecs.ts'

/** Takes a records section and answers another with the same records. */
export type SectionDecoder = (section: Buffer, count: number) => Buffer

/** Shorter than a frame: refused wherever one is expected. */
const UNREADABLE = Buffer.from([0xff])

export function openDecoder(codec: NonNullable<PipelineDefinition['source_codec']>): SectionDecoder {
  const decode = openValueDecoder(codec)
  const decoded = (value: Buffer): Buffer => {
    try {
      return decode(value)
    } catch {
      return UNREADABLE
    }
  }
  return (section, count) =>
    encodeRecords(decodeRecords(section, count).map((record) => ({ ...record, value: record.value && decoded(record.value) })))
}
