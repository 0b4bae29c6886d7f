/** The projection of the dead-letter topics: the rows, the next offset to project per partition, and the rows taken by a redrive. */
import { createHash } from 'node:crypto'
import type { DeadLetterFilter, DeadLetterQuery } from '../../../shared/api/dead-letters.ts'
import type { DeadLetterChoice } from '../../../shared/api/trials.ts'
import { invalidRequest } from '../service-error.ts'
import type { Queryable } from './database.ts'
import { deadLetterId, parseDeadLetterId } from './dead-letter-id.ts'
import type { Knex } from 'knex'

type Status = 'pending' | 'redriving' | 'redriven' | 'copy'
/** A row of `dead_letters`. */
export type DeadLetterRow = {
  pipeline_id: string
  /** Partition and offset in the dead-letter topic. The driver returns bigint columns as text. */
  letter_partition: number
  letter_offset: string
  /** Of the record's topic; null in a dead letter that does not say it. */
  topic_id: string | null
  /** Partition and offset of the record in the source. */
  partition: number
  record_offset: string
  step: number
  module: string
  version: string
  revision: number
  error_code: string
  error_message: string
  /** Of the message: what `patternOf` makes of it. Null where it is empty, and in rows from before there were patterns. */
  pattern: string | null
  attempts: number
  redrives: number
  failed_at: Date
  key: Buffer | null
  value: Buffer | null
  headers: { key: string; base64: string | null }[]
  /** A `copy` is another dead letter of the same failure, for example because its round was repeated. */
  status: Status
  job_id: string | null
}

/** A dead letter that is not stored yet. */
export type NewDeadLetter = Omit<DeadLetterRow, 'status' | 'job_id'>

/** Where a dead letter is in its topic. */
export type DeadLetterPlace = Pick<DeadLetterRow, 'letter_partition' | 'letter_offset'>

/** The condition that a row is at one of the places, with `columnsOf` as its two parameters. */
export const IN_PLACES = '(letter_partition, letter_offset) IN (SELECT * FROM unnest(?::int[], ?::bigint[]))'
/** The partitions and offsets of places. */
export const columnsOf = (places: readonly DeadLetterPlace[]): [number[], string[]] => [
  places.map(({ letter_partition }) => letter_partition),
  places.map(({ letter_offset }) => letter_offset),
]

const INSERT_MAX = 500

/** The offset that the projection of the partition goes on at; another one may move it at any time. */
export async function findDeadLetterPosition(db: Queryable, pipelineId: string, partition: number): Promise<bigint> {
  const row = await db('dead_letter_positions').where({ pipeline_id: pipelineId, partition }).first()
  return BigInt(row?.next_offset ?? 0)
}

/** The next offset to project, locked until the transaction ends so that one projection at a time moves it. */
export async function lockDeadLetterPosition(db: Queryable, pipelineId: string, partition: number): Promise<bigint> {
  await db('dead_letter_positions').insert({ pipeline_id: pipelineId, partition, next_offset: 0 }).onConflict().ignore()
  const row = await db('dead_letter_positions').where({ pipeline_id: pipelineId, partition }).forUpdate().first()
  return BigInt(row.next_offset)
}

const COMPARED = [
  'topic_id',
  'partition',
  'record_offset',
  'step',
  'letter_partition',
  'letter_offset',
  'redrives',
  'revision',
  'job_id',
] as const
/** What is compared of a dead letter. `content`: a digest of key and value, where one of two does not say which topic its record is in. */
type Compared = Pick<DeadLetterRow, (typeof COMPARED)[number] | 'status'> & { content: string | null }

const digestOf = (bytes: Buffer | null): string => (bytes === null ? '' : createHash('sha256').update(bytes).digest('hex'))
const contentOf = ({ key, value }: NewDeadLetter): string => `${digestOf(key)}/${digestOf(value)}`
const CONTENT = `coalesce(encode(sha256(key), 'hex'), '') || '/' || coalesce(encode(sha256(value), 'hex'), '')`

/** Of two dead letters at the same offset, whether their record is the same: a recreated topic has other records there. */
const isOfRecord =
  ({ topic_id, content }: Compared) =>
  (other: Compared): boolean =>
    topic_id !== null && other.topic_id !== null ? topic_id === other.topic_id : content === other.content
const positionOf = ({ partition, record_offset }: Pick<Compared, 'partition' | 'record_offset'>): string => `${partition}/${record_offset}`

/**
 * A failure has one dead letter: any other one is a copy, which no list shows and every redrive skips. The dead letter of a redrive that
 * failed again replaces the one that was redriven, which becomes the copy, also where it failed at another step of a changed chain.
 * One of a later revision replaces a pending one of any step, or one that was settled without a redrive: the record was handled again (by a
 * replay, or because the position was set back), and a redrive of both would deliver it twice. D3: a dead letter of another record at the
 * same offset is neither.
 */
async function markCopies(db: Queryable, pipelineId: string, letters: NewDeadLetter[]): Promise<(NewDeadLetter & { status: Status })[]> {
  // Hashing takes time, and all but older versions name the topic.
  const hasUnnamed = letters.some(({ topic_id }) => topic_id === null)
  const known: Compared[] = await db('dead_letters')
    .where({ pipeline_id: pipelineId })
    .whereIn(
      ['partition', 'record_offset'],
      letters.map(({ partition, record_offset }) => [partition, record_offset]),
    )
    .whereNot('status', 'copy')
    // The last one counts.
    .orderBy(['letter_partition', 'letter_offset'])
    .select(...COMPARED, 'status', db.raw(`CASE WHEN topic_id IS NULL OR ? THEN ${CONTENT} END AS content`, [hasUnnamed]))
  const comparesContent = hasUnnamed || known.some(({ topic_id }) => topic_id === null)
  const byPosition = Map.groupBy(known, positionOf)
  const marked = new Map<string, NewDeadLetter & { status: Status }>()
  const replaced: Compared[] = []
  for (const letter of letters) {
    const compared: Compared = { ...letter, status: 'pending', job_id: null, content: comparesContent ? contentOf(letter) : null }
    const same = (byPosition.get(positionOf(letter)) ?? []).filter(isOfRecord(compared))
    const atStep = same.findLast(({ step }) => step === letter.step)
    const redriven = same.findLast(
      ({ status, redrives }) => (status === 'redriving' || status === 'redriven') && redrives === letter.redrives - 1,
    )
    const isOfEarlier = ({ status, revision, job_id }: Compared): boolean =>
      revision < letter.revision && (status === 'pending' || (status === 'redriven' && job_id === null))
    const before = atStep ?? redriven ?? same.findLast(isOfEarlier)
    const isHandledAgain = before !== undefined && isOfEarlier(before)
    // A record that was redriven and fails again under another revision, but not in that redrive (in a replay), is a new failure.
    const isSettled =
      !isHandledAgain && before?.status === 'redriven' && before.revision !== letter.revision && before.redrives >= letter.redrives
    const isCopy = before !== undefined && before.redrives >= letter.redrives && !isSettled && !isHandledAgain
    marked.set(deadLetterId(letter), { ...letter, status: isCopy ? 'copy' : 'pending' })
    if (isCopy) continue
    if (before && !isSettled) {
      const ofTheseDeadLetters = marked.get(deadLetterId(before))
      if (ofTheseDeadLetters) ofTheseDeadLetters.status = 'copy'
      else replaced.push(before)
    }
    const others = byPosition.get(positionOf(letter))
    if (others) others.push(compared)
    else byPosition.set(positionOf(letter), [compared])
  }
  if (replaced.length > 0)
    await db.raw(
      `UPDATE dead_letters SET status = 'copy' WHERE pipeline_id = ?
       AND ${IN_PLACES}`,
      [pipelineId, ...columnsOf(replaced)],
    )
  return [...marked.values()]
}

/** Stores dead letters and the next offset to project, in the caller's transaction. */
export async function addDeadLetters(
  db: Queryable,
  pipelineId: string,
  partition: number,
  letters: NewDeadLetter[],
  nextOffset: bigint,
): Promise<void> {
  for (let from = 0; from < letters.length; from += INSERT_MAX) {
    const some = letters.slice(from, from + INSERT_MAX)
    const rows = await markCopies(db, pipelineId, some)
    await db('dead_letters')
      .insert(rows.map((row) => ({ ...row, headers: JSON.stringify(row.headers) })))
      .onConflict()
      .ignore()
  }
  await db('dead_letter_positions')
    .where({ pipeline_id: pipelineId, partition })
    .update({ next_offset: String(nextOffset) })
}

/** Rows of the pipeline that the filter asks for, without copies. */
export function filtered(db: Queryable, pipelineId: string, filter: DeadLetterFilter & { status?: string }): Knex.QueryBuilder {
  const query = db('dead_letters').where({ pipeline_id: pipelineId }).whereNot('status', 'copy')
  const columns = {
    step: filter.step,
    error_code: filter.error,
    module: filter.module,
    version: filter.version,
    pattern: filter.pattern,
    partition: filter.partition,
    status: filter.status,
  }
  for (const [column, value] of Object.entries(columns)) if (value !== undefined) void query.where(column, value)
  if (filter.from !== undefined) void query.where('failed_at', '>=', filter.from)
  if (filter.to !== undefined) void query.where('failed_at', '<', filter.to)
  return query
}

const CURSOR = /^(\d{1,16}):(\d{1,6}):(\d{1,18})$/

/** Bytes of the keys, values and headers of one page; shown in base64 and as JSON they take 2.5 times as much. */
const PAGE_BYTES_MAX = 6 << 20

type PageRow = Pick<DeadLetterRow, 'failed_at' | 'letter_partition' | 'letter_offset'>

/** As many rows as fit on a page, and at least one. */
function fittingOf(rows: (PageRow & { bytes: string })[]): PageRow[] {
  let bytes = 0
  const end = rows.findIndex((row, index) => (bytes += Number(row.bytes)) > PAGE_BYTES_MAX && index > 0)
  return end < 0 ? rows : rows.slice(0, end)
}

/** One page; `nextCursor` is set while more rows follow, `isCut` if not all requested rows fit. Throws 400 for an invalid cursor. */
export async function listDeadLetters(
  db: Queryable,
  pipelineId: string,
  query: DeadLetterQuery,
): Promise<{ items: DeadLetterRow[]; total: number; nextCursor: string | undefined; isCut: boolean }> {
  const scope = filtered(db, pipelineId, query)
  const [{ count }] = (await scope.clone().count('* as count')) as [{ count: string }]
  const isDescending = query.sort.startsWith('-')
  const order = isDescending ? 'desc' : 'asc'
  const sort = ['failed_at', 'letter_partition', 'letter_offset'].map((column) => ({ column, order }))
  const size = `coalesce(octet_length(key), 0) + coalesce(octet_length(value), 0) + octet_length(headers::text) AS bytes`
  const page = scope
    .clone()
    .select('failed_at', 'letter_partition', 'letter_offset', db.raw(size))
    .orderBy(sort)
    .limit(query.page_size + 1)
  if (query.cursor === undefined) void page.offset((query.page - 1) * query.page_size)
  else {
    const parts = CURSOR.exec(Buffer.from(query.cursor, 'base64url').toString('utf8'))
    if (!parts || Number.isNaN(new Date(Number(parts[1])).getTime()))
      throw invalidRequest([{ path: '/query/cursor', message: 'is not a cursor of this list' }])
    const comparison = isDescending ? '<' : '>'
    void page.whereRaw(`(failed_at, letter_partition, letter_offset) ${comparison} (?::timestamptz, ?, ?)`, [
      new Date(Number(parts[1])),
      Number(parts[2]),
      parts[3]!,
    ])
  }
  const rows = (await page) as (PageRow & { bytes: string })[]
  const shown = fittingOf(rows.slice(0, query.page_size))
  const items: DeadLetterRow[] = await db('dead_letters')
    .where({ pipeline_id: pipelineId })
    .whereIn(
      ['letter_partition', 'letter_offset'],
      shown.map(({ letter_partition, letter_offset }) => [letter_partition, letter_offset]),
    )
    .orderBy(sort)
  const last = rows.length > shown.length ? shown.at(-1) : undefined
  const nextCursor = last && Buffer.from(`${last.failed_at.getTime()}:${last.letter_partition}:${last.letter_offset}`).toString('base64url')
  return { items, total: Number(count), nextCursor, isCut: shown.length < Math.min(rows.length, query.page_size) }
}

const CHOSEN = ['letter_partition', 'letter_offset', 'partition', 'record_offset', 'step', 'error_code', 'error_message'] as const
/** A dead letter that a trial runs: its place, that of its record, and how it failed. */
export type ChosenDeadLetter = Pick<DeadLetterRow, (typeof CHOSEN)[number]>

/** The first of the chosen dead letters, those that failed last first; `total` counts all of them. */
export async function chooseDeadLetters(
  db: Queryable,
  pipelineId: string,
  { ids, ...filter }: DeadLetterChoice,
  limit: number,
): Promise<{ letters: ChosenDeadLetter[]; total: number }> {
  const scope = filtered(db, pipelineId, ids ? filter : { ...filter, status: 'pending' })
  if (ids) void scope.whereRaw(IN_PLACES, columnsOf(ids.flatMap((id) => parseDeadLetterId(id) ?? [])))
  const [{ count }] = (await scope.clone().count('* as count')) as [{ count: string }]
  const sort = ['failed_at', 'letter_partition', 'letter_offset'].map((column) => ({ column, order: 'desc' }))
  const letters: ChosenDeadLetter[] = await scope
    .select(...CHOSEN)
    .orderBy(sort)
    .limit(limit)
  return { letters, total: Number(count) }
}

/** Dead letters that failed alike; `latest` is the last of them. */
export type DeadLetterGroup = Pick<DeadLetterRow, 'step' | 'module' | 'version' | 'error_code' | 'pattern'> & {
  count: number
  first_failed_at: Date
  last_failed_at: Date
  latest: DeadLetterRow
}

const GROUPS_MAX = 100
/** Dead letters of one step, module, version and error code with more patterns are one group: their messages have ids in them. */
const PATTERNS_MAX = 10
const ALIKE = 'step, module, version, error_code'
/** As one text, which workers of a parallel scan can compare: names have no line ends. */
const KEY = `concat_ws(chr(10), ${ALIKE})`
const TOTALS = 'count, first_failed_at, last_failed_at, latest'
/** The greatest of a row's members is that of the latest dead letter, without sorting all of them. */
const COUNTED = `count(*)::float8 AS count, min(failed_at) AS first_failed_at, max(failed_at) AS last_failed_at,
  max(ARRAY[extract(epoch FROM failed_at), letter_partition, letter_offset])::text AS latest`
/** Distinct hashes, modulo 64: there are at least as many patterns. There may be a million of those, which would be too slow to sort. */
const HASHES = 'bit_count(bit_or(1::bigint << (hashtext(pattern) & 63))::bit(64))'

/**
 * The largest groups first. A group has no pattern where there are too many, or where a dead letter has none: the filter of the group,
 * which then names no pattern, selects exactly its dead letters.
 */
export async function listDeadLetterGroups(
  db: Queryable,
  pipelineId: string,
  filter: DeadLetterFilter & { status: string },
): Promise<DeadLetterGroup[]> {
  const scope = filtered(db, pipelineId, filter)
  const { rows: groups }: { rows: (Omit<DeadLetterGroup, 'latest'> & { latest: string })[] } = await db.raw(
    `WITH alike AS (
      SELECT ${ALIKE}, ${COUNTED}, bool_or(pattern IS NULL) OR ${HASHES} > :most AS is_one FROM :scope AS letters GROUP BY ${ALIKE}
    ), counted AS (
      SELECT ${ALIKE}, pattern, ${COUNTED}, count(*) OVER (PARTITION BY ${ALIKE}) AS patterns FROM :scope AS letters
      WHERE ${KEY} <> ALL (ARRAY(SELECT ${KEY} FROM alike WHERE is_one)) GROUP BY ${ALIKE}, pattern
    ), divided AS (SELECT * FROM counted WHERE patterns <= :most)
    SELECT ${ALIKE}, pattern, ${TOTALS} FROM divided
    UNION ALL
    SELECT ${ALIKE}, NULL, ${TOTALS} FROM alike WHERE (${ALIKE}) NOT IN (SELECT ${ALIKE} FROM divided)
    ORDER BY count DESC LIMIT :groups`,
    { scope, most: PATTERNS_MAX, groups: GROUPS_MAX },
  )
  const places = groups.map(({ latest }) => latest.replaceAll(/[{}]/g, '').split(',').slice(1))
  const rows: DeadLetterRow[] = await db('dead_letters')
    .where({ pipeline_id: pipelineId })
    .whereIn(['letter_partition', 'letter_offset'], places)
  const byPlace = new Map(rows.map((row) => [`${row.letter_partition}/${row.letter_offset}`, row]))
  return groups.flatMap((group, index) => {
    const latest = byPlace.get(places[index]!.join('/'))
    return latest ? [{ ...group, latest }] : []
  })
}

/** The dead letter; undefined for an unknown id or a copy. */
export async function findDeadLetter(db: Queryable, pipelineId: string, id: string): Promise<DeadLetterRow | undefined> {
  const place = parseDeadLetterId(id)
  return (
    place &&
    db('dead_letters')
      .where({ pipeline_id: pipelineId, ...place })
      .whereNot('status', 'copy')
      .first()
  )
}

type Failure = Pick<
  DeadLetterRow,
  'letter_partition' | 'letter_offset' | 'step' | 'version' | 'revision' | 'error_code' | 'error_message' | 'status' | 'job_id'
>

/**
 * The failures of one source record, oldest first: its dead letters, also those that don't say which topic their record is in, and the
 * copies that a job redrove and whose record failed again.
 */
export async function listFailuresOf(
  db: Queryable,
  pipelineId: string,
  topicId: string,
  partition: number,
  offset: number,
): Promise<Failure[]> {
  return db('dead_letters')
    .select('letter_partition', 'letter_offset', 'step', 'version', 'revision', 'error_code', 'error_message', 'status', 'job_id')
    .where({ pipeline_id: pipelineId, partition, record_offset: offset })
    .whereRaw('coalesce(topic_id, ?) = ?', [topicId, topicId])
    .whereRaw("(status <> 'copy' OR job_id IS NOT NULL)")
    .orderBy('failed_at')
}

/** Settles a job's dead letters after its end: those before its positions are redriven, the others are pending again. */
export async function settleJobDeadLetters(db: Queryable, jobId: string, positions: ReadonlyMap<number, bigint>): Promise<void> {
  for (const [partition, position] of positions) {
    await db('dead_letters')
      .where({ job_id: jobId, status: 'redriving', letter_partition: partition })
      .where('letter_offset', '<', String(position))
      .update({ status: 'redriven' })
  }
  await db('dead_letters').where({ job_id: jobId, status: 'redriving' }).update({ status: 'pending', job_id: null })
}
