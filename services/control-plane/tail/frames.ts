/** What a tail shows of the records that it has read: themselves, or what a step makes of them. */
import type { TailFrame, TailRecord } from '../../../shared/api/tail.ts'
import { openValueDecoder } from '../../../shared/codecs/codecs.ts'
import type { PipelineDefinition } from '../../../shared/model/definition.ts'
import { parseDeadLetter } from '../dead-letters/projection.ts'
import type { ShownBytes } from '../shown/bytes.ts'
import type { Decode } from '../shown/records.ts'
import type { Pace } from '../concurrency/pacing.ts'
import { sizeOf } from '../trace/source-records.ts'
import { runTrace, showPlaced, showRecord, showStep, type Chain, type SourceRecord, type TraceDeps } from '../trace/trace.ts'
import type { Traced } from '../workshop/jobs.ts'
import type { Place } from './places.ts'

type Step = PipelineDefinition['steps'][number]

/** What one frame shows of keys, values and headers in full; of what does not fit, the beginning is shown. */
const FRAME_BYTES_MAX = 256 << 10

/** `left`: records that were not run: the chain did not return for the one before them. */
export type Shown = Pick<TailFrame, 'records' | 'undecided'> & { left: number }

/** The records of a topic as they are. */
export async function topicFrame(place: Place, records: SourceRecord[], pace: Pace): Promise<Shown> {
  const room: ShownBytes = { left: FRAME_BYTES_MAX }
  const decode = place.codec && openValueDecoder(place.codec)
  const all: TailRecord[] = []
  await pace.turns(records.length, (index) => {
    all.push(shown(place, records[index]!, room, decode))
    return sizeOf(records[index]!)
  })
  return { records: all, left: 0 }
}

/**
 * The records for which the filter is true, or what the last of the place's steps makes of them. Those that do not reach it are left out.
 * Values behind a step have no schema frame, whatever the sink.
 */
export async function runFrame(
  deps: TraceDeps,
  accountId: string,
  place: Place,
  filter: Step | undefined,
  records: SourceRecord[],
): Promise<Shown> {
  const room: ShownBytes = { left: FRAME_BYTES_MAX }
  const steps = filter ? [...place.steps, filter] : place.steps
  const source = { kind: 'topic', codec: place.codec } as const
  // External sinks take values without a frame.
  const chain: Chain = { account_id: accountId, pipeline_id: place.pipelineId, steps, source, sink: { kind: 'connector' } }
  const decode = place.codec && openValueDecoder(place.codec)
  const { traced, hanging } = await runTrace(deps, chain, records)
  const ran = [...traced, ...(hanging ? [hanging] : [])]
  const isWanted = (each: Traced) => !filter || (each.steps[steps.length - 1]?.outCount ?? 0) > 0
  const at = place.steps.length - 1
  return {
    left: records.length - ran.length,
    undecided: filter && undecided(ran, steps.length - 1, records),
    records: ran.flatMap((each, index): TailRecord[] => {
      const source = records[index]!
      if (!isWanted(each)) return []
      if (at < 0) return [shown(place, source, room, decode)]
      const made = each.steps[at]
      if (!made) return []
      const { config: _, ...step } = showStep(place.steps[at]!, at, made, room)
      return [{ partition: source.partition, offset: Number(source.offset), step }]
    }),
  }
}

/** The records for which the filter, the last step, has failed. */
function undecided(ran: Traced[], at: number, records: SourceRecord[]): TailFrame['undecided'] {
  const places = ran.flatMap(({ steps }, index) => (steps[at]?.error === undefined ? [] : [index]))
  const first = places[0]
  if (first === undefined) return undefined
  const { partition, offset } = records[first]!
  return { count: places.length, partition, offset: Number(offset), reason: ran[first]!.steps[at]!.error!.message }
}

function shown({ isDeadLetters }: Place, source: SourceRecord, room: ShownBytes, decode: Decode | undefined): TailRecord {
  if (!isDeadLetters) return showPlaced(source, room, decode)
  const { partition, offset, timestamp, record } = source
  const deadLetter = parseDeadLetter('', partition, offset, record)
  const headers = record.headers.slice(0, deadLetter.headers.length)
  return {
    partition: deadLetter.partition,
    offset: Number(deadLetter.record_offset),
    record: showRecord({ ...record, headers, timestamp }, room, decode),
    error: { step: deadLetter.step, module: deadLetter.module, code: deadLetter.error_code, message: deadLetter.error_message },
  }
}
