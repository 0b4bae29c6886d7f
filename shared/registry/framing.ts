/** The Confluent framing of values: magic byte 0, schema id as int32 big-endian, then the value (Confluent wire format). */
import type { PipelineDefinition } from '../model/definition.ts'

export const FRAMING_BYTES = 5

/** The five bytes in front of a value, as base64: what a chain's last step is told to put there. */
export function framingPrefix(schemaId: number): string {
  return frame(schemaId, '').toString('base64')
}

/** The same for a pipeline's last step: sinks that are no topic, or no JSON, get values without a frame. */
export const outputPrefixOf = ({
  sink,
  sink_codec,
  sink_schema_id,
}: Pick<PipelineDefinition, 'sink' | 'sink_codec' | 'sink_schema_id'>): string => (sink || sink_codec ? '' : framingPrefix(sink_schema_id))

export function frame(schemaId: number, json: string): Buffer {
  const value = Buffer.allocUnsafe(FRAMING_BYTES + Buffer.byteLength(json))
  value[0] = 0
  value.writeInt32BE(schemaId, 1)
  value.write(json, FRAMING_BYTES)
  return value
}

/** The schema's id in a value's frame. Throws an Error that says why there is none. */
export function schemaIdOf(value: Buffer | null): number {
  if (value === null) throw new Error('the value is null (a tombstone)')
  if (value.length < FRAMING_BYTES || value[0] !== 0)
    throw new Error('the value does not start with the schema registry prefix (magic byte 0)')
  return value.readInt32BE(1)
}

/** The framed JSON value. Throws an Error that says why it can't be decoded. */
export function unframe(value: Buffer | null): unknown {
  schemaIdOf(value)
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(value!.subarray(FRAMING_BYTES)))
  } catch {
    throw new Error('the value is not valid JSON')
  }
}
