/** The framing of values: magic byte 0, schema id as a big-endian int32, then the value (Confluent wire format). */
import type { ExternalSink, TopicSink } from './definition.ts'

/** Bytes in front of a framed value. */
export const FRAMING_BYTES = 5

/** Returns the five bytes in front of a value as base64, for the last step of a chain to add. */
export function framingPrefix(schemaId: number): string {
  return frame(schemaId, '').toString('base64')
}

/** What the frame of a sink's values depends on. */
export type Framing = Pick<TopicSink, 'kind' | 'schema_id' | 'codec'> | Pick<ExternalSink, 'kind'>

/** The id of the schema that the sink's values are written with; 0 where they get none. */
export const frameIdOf = (sink: Framing): number => (sink.kind === 'topic' ? sink.schema_id : 0)

/**
 * Returns the prefix for a pipeline's last step as base64. It is empty for external sinks and for streams whose values are not JSON: their
 * values get no frame here.
 */
export const outputPrefixOf = (sink: Framing): string => (sink.kind === 'connector' || sink.codec ? '' : framingPrefix(sink.schema_id))

/** Returns the JSON text in UTF-8, framed with the schema id. */
export function frame(schemaId: number, json: string): Buffer {
  const value = Buffer.allocUnsafe(FRAMING_BYTES + Buffer.byteLength(json))
  value[0] = 0
  value.writeInt32BE(schemaId, 1)
  value.write(json, FRAMING_BYTES)
  return value
}

/** Whether the value starts with a frame. */
export const isFramed = (value: Buffer): boolean => value.length >= FRAMING_BYTES && value[0] === 0

/** Returns the schema id in a value's frame. Throws an Error that says why there is none. */
export function schemaIdOf(value: Buffer | null): number {
  if (value === null) throw new Error('the value is null (a tombstone)')
  if (!isFramed(value)) throw new Error('the value does not start with the schema registry prefix (magic byte 0)')
  return value.readInt32BE(1)
}
