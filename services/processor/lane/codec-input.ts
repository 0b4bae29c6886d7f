/**
 * Decodes non-JSON source values to JSON for the chain, record by record, allocating objects. A value that can't be read becomes one that
 * every step and sink refuses, so that its record becomes a dead letter with the original bytes.
 */
import { reasonOf } from '../../../shared/errors/reason-of.ts'
import { decodeRecords, encodeRecords } from '../../../shared/kafka/protocol/record-batch.ts'
import type { SourceCodec } from '../../../shared/model/definition.ts'
import { isFramed } from '../../../shared/model/framing.ts'
import { openValueDecoder, UnknownSchema } from '../../../shared/codecs/codecs.ts'

/** Decodes the values of records sections. */
export type SectionDecoder = {
  /** Returns a section with the same records, decoded. Throws UnknownSchema while a schema that it lacks may still be announced. */
  decode(section: Buffer, count: number): Buffer
  /** Why the value at this offsetDelta of the section decoded last can't be read; undefined where it can, or has no frame. */
  reasonAt(delta: number): string | undefined
}

/** Shorter than a frame: refused wherever a frame is expected. */
const UNREADABLE = Buffer.from([0xff])
const UNKNOWN_MAX = 100
/** A stream's next schema comes with the pipeline's next revision, which may arrive after the first records written with that schema. */
const WAIT_MS = 20_000

export function openDecoder(codec: SourceCodec): SectionDecoder {
  const decodeValue = openValueDecoder(codec)
  /** By schema id, when it was first met: one that never arrives must not use up the waiting time of the others. */
  const unknownSince = new Map<number, number>()
  const reasons = new Map<number, string>()

  function isAwaited({ id }: UnknownSchema): boolean {
    const nowMs = performance.now()
    const since = unknownSince.get(id) ?? nowMs
    if (unknownSince.size < UNKNOWN_MAX) unknownSince.set(id, since)
    return nowMs - since < WAIT_MS && unknownSince.has(id)
  }

  return {
    decode(section, count) {
      reasons.clear()
      let awaited: UnknownSchema | undefined
      const decoded = (value: Buffer, delta: number): Buffer => {
        try {
          return decodeValue(value)
        } catch (error) {
          if (error instanceof UnknownSchema && isAwaited(error)) awaited ??= error
          else if (isFramed(value)) reasons.set(delta, reasonOf(error))
          return UNREADABLE
        }
      }
      const records = decodeRecords(section, count).map((record) => ({
        ...record,
        value: record.value && decoded(record.value, record.offsetDelta),
      }))
      // After all records: the ids that they name are waited for together, not one after the other.
      if (awaited) throw awaited
      return encodeRecords(records)
    },
    reasonAt: (delta) => reasons.get(delta),
  }
}
