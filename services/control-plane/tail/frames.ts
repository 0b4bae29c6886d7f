/** What a tail shows of the records that it has read: themselves, or what a step makes of them. */
import type { TailRecord } from '../../../shared/api/tail.ts'
import { openValueDecoder } from '../../../shared/registry/codecs.ts'
import type { PipelineDefinition } from '../../../shared/model/definition.ts'
import type { Deps } from '../deps.ts'
import { parseDeadLetter } from '../dead-letters/projection.ts'
import type { ShownBytes } from '../dead-letters/show.ts'
import { asJson, describe, runTrace, showRecord, type Chain, type SourceRecord } from '../trace/trace.ts'
import type { Place } from './places.ts'

type Step = PipelineDefinition['steps'][number]

/** What one frame shows of keys, values and headers in full; of what does not fit, the beginning is shown. */
const FRAME_BYTES_MAX = 256 << 10

/** The records as they are shown; those that do not pass `filter`, or do not reach the step that is looked at, are left out. */
export async function frameOf(
  deps: Pick<Deps, 'db' | 'cacheFolder' | 'workshop'>,
  accountId: string,
  place: Place,
  filter: Step | undefined,
  records: SourceRecord[],
): Promise<TailRecord[]> {
  const room: ShownBytes = { left: FRAME_BYTES_MAX }
  const steps = filter ? [...place.steps, filter] : place.steps
  if (steps.length === 0) {
    const decode = place.source_codec && openValueDecoder(place.source_codec)
    return records.map((record) => shown(place, asJson(record, decode), room))
  }
  const chain: Chain = { account_id: accountId, pipeline_id: 'tail', steps, sink_schema_id: 0, source_codec: place.source_codec }
  const { records: read, traced, hanging } = await runTrace(deps, chain, records)
  return [...traced, ...(hanging ? [hanging] : [])].flatMap((each, index) => {
    const source = read[index]!
    if (filter && each.steps[steps.length - 1]?.outCount !== 1) return []
    if (place.steps.length === 0) return [shown(place, source, room)]
    const at = place.steps.length - 1
    if (!each.steps[at]) return []
    const { partition, offset, steps: told } = describe({ steps: place.steps }, source, each, room)
    return [{ partition, offset, step: told[at]! }]
  })
}

function shown({ isDeadLetters }: Place, { partition, offset, timestamp, record }: SourceRecord, room: ShownBytes): TailRecord {
  const place = { partition, offset: Number(offset) }
  if (!isDeadLetters) return { ...place, record: showRecord({ ...record, timestamp }, room) }
  const letter = parseDeadLetter('', partition, offset, record)
  const headers = record.headers.slice(0, letter.headers.length)
  return {
    partition: letter.partition,
    offset: Number(letter.record_offset),
    record: showRecord({ ...record, headers, timestamp }, room),
    error: { step: letter.step, module: letter.module, code: letter.error_code, message: letter.error_message },
  }
}
