/** Records of a pipeline that a trial runs: of its source, or its dead letters as a redrive would run them. */
import type { DeadLetterChoice, TrialChoice } from '../../../shared/api/trials.ts'
import type { Trace } from '../../../shared/api/observability.ts'
import type { TopicLayout } from '../../../shared/kafka/cluster.ts'
import { ownTimestamp, splitDeadLetterHeaders } from '../../../shared/model/dead-letter-headers.ts'
import type { Deps } from '../deps.ts'
import { layoutOf } from '../layout-of.ts'
import type { Pace } from '../concurrency/pacing.ts'
import { deadLetterId } from '../store/dead-letter-id.ts'
import { chooseDeadLetters, type ChosenDeadLetter } from '../store/dead-letters.ts'
import type { PipelineRow } from '../store/pipelines.ts'
import { BYTES_MAX, chooseRecords, partitionsAsked } from './choose-records.ts'
import { fitting, sizeOf } from './source-records.ts'
import { notRun, type SourceRecord } from './trace.ts'

/** What reading them takes. */
export type ReadDeps = Pick<Deps, 'cluster' | 'db' | 'sourceReader' | 'readPacer' | 'deadLetters'>
/** What a trial runs. `letters`: the dead letters that the records are, in the same order; `total` is how many there are to choose from. */
export type Chosen = { records: SourceRecord[]; isCut: boolean; letters?: ChosenDeadLetter[]; total?: number }

/** How many dead letters are read at the same time. */
const READ_AT_ONCE = 8

/** The record as it was before it became a dead letter; undefined where the topic no longer has that one. */
async function recordOf(
  { sourceReader }: ReadDeps,
  layout: TopicLayout,
  { letter_partition, letter_offset, partition, record_offset }: ChosenDeadLetter,
  pace: Pace,
): Promise<SourceRecord | undefined> {
  const found = await sourceReader.at(layout, letter_partition, BigInt(letter_offset), pace)
  if (!found) return undefined
  const { own, added } = splitDeadLetterHeaders(found.record.headers)
  const timestamp = ownTimestamp(added, found.timestamp)
  return { partition, offset: BigInt(record_offset), timestamp, record: { ...found.record, headers: own } }
}

async function deadLettersOf(
  deps: ReadDeps,
  pipeline: PipelineRow,
  choice: DeadLetterChoice,
  limit: number,
  stepCount: number,
  pace: Pace,
): Promise<Chosen> {
  await deps.deadLetters.catchUp(pipeline)
  const { letters, total } = await chooseDeadLetters(deps.db, pipeline.id, choice, limit)
  if (letters.length === 0) return { records: [], isCut: false, letters, total }
  const layout = await layoutOf(deps.cluster, pipeline.definition.dead_letter_topic, 'the topic of the pipeline’s dead letters')
  const bytesMax = BYTES_MAX / (1 + stepCount)
  const found: { record: SourceRecord; letter: ChosenDeadLetter }[] = []
  let [next, bytes] = [0, 0]
  // Few are read ahead of what fits: a hundred of the largest would take a hundred megabytes.
  for (; next < letters.length && bytes <= bytesMax; next += READ_AT_ONCE) {
    const some = letters.slice(next, next + READ_AT_ONCE)
    const records = await Promise.all(some.map((letter) => recordOf(deps, layout, letter, pace)))
    for (const [index, record] of records.entries()) {
      if (!record) continue
      bytes += sizeOf(record)
      found.push({ record, letter: some[index]! })
    }
  }
  const records = fitting(
    found.map(({ record }) => record),
    bytesMax,
    'first',
  )
  return { records, isCut: records.length < found.length || next < letters.length, letters: found.map(({ letter }) => letter), total }
}

/** The chosen records. Throws 400 for a partition that the source does not have. */
export async function pipelineRecords(
  deps: ReadDeps,
  pipeline: PipelineRow,
  { from = 'latest', partition, dead_letters, limit }: TrialChoice,
  stepCount: number,
): Promise<Chosen> {
  const { readPacer, cluster } = deps
  if (dead_letters)
    return readPacer.during(pipeline.account_id, (pace) => deadLettersOf(deps, pipeline, dead_letters, limit, stepCount, pace))
  const layout = await layoutOf(cluster, pipeline.definition.source.topic, 'the source’s topic', partition)
  const partitions = partitionsAsked(layout, { place: from }, partition, 'source')
  return readPacer.during(pipeline.account_id, (pace) => chooseRecords(deps, layout, partitions, { place: from }, limit, stepCount, pace))
}

/** What the answer says of the traces of these records. */
export function tracedBody({ records, isCut, letters, total }: Chosen, traces: Trace[]) {
  const withLetters = traces.map((trace, index) => {
    const letter = letters?.[index]
    if (!letter) return trace
    const { step, error_code, error_message } = letter
    return { ...trace, dead_letter: { id: deadLetterId(letter), step, error: { code: error_code, message: error_message } } }
  })
  return {
    records: withLetters,
    ...notRun(records, traces),
    ...(isCut ? { truncated: true as const } : {}),
    ...(total === undefined ? {} : { total }),
  }
}
