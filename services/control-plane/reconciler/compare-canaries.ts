/**
 * A canary in shadow: a version runs beside the one in the pipeline, over the source's records as they come, in a workshop. Nothing of it is
 * delivered, and no task knows of it, so that it can't hold up or harm the pipeline; where records come faster than it can compare, it skips.
 */
import type { Difference } from '../../../shared/api/canary.ts'
import { LIMITS } from '../../../shared/model/limits.ts'
import { reasonOf } from '../../../shared/errors/reason-of.ts'
import type { Deps } from '../deps.ts'
import { listComparing, saveCanary, type CanaryRow } from '../store/canaries.ts'
import { findPipeline, type PipelineRow } from '../store/pipelines.ts'
import { compareSteps } from '../trace/compare-steps.ts'
import { fitting } from '../trace/source-records.ts'
import type { SourceRecord } from '../trace/trace.ts'

type CanaryDeps = Pick<Deps, 'db' | 'cluster' | 'sourceReader' | 'cacheFolder' | 'workshop' | 'log'>

/** Records of one pass; the first pass reads the newest ones, so that a quiet stream shows something too. */
const PASS_RECORDS = 200
const PASS_BYTES_MAX = 2 << 20
/** Further behind than this it goes on at the newest records. */
const BEHIND_MAX = 5000n
const EXAMPLES_MAX = 20
const EXAMPLE_BYTES_MAX = 16 << 10
/** Fewer records say nothing about a share. */
const JUDGED_FROM = 20n

/** The records after `positions`, and where the next pass goes on. */
async function nextRecords({ cluster, sourceReader }: CanaryDeps, topic: string, positions: Record<string, string>) {
  const layout = await cluster.describeTopic(topic)
  if (!layout) return undefined
  const partitions = [...layout.leaders.keys()]
  const ends = await cluster.offsets(layout, partitions, 'latest')
  const limit = Math.max(1, Math.floor(PASS_RECORDS / partitions.length))
  const next: Record<string, string> = { ...positions }
  let records: SourceRecord[] = []
  let skipped = 0n
  for (const partition of partitions) {
    const end = ends.get(partition) ?? 0n
    const position = positions[partition] === undefined ? undefined : BigInt(positions[partition])
    if (position !== undefined && position >= end) continue
    const isBehind = position === undefined || end - position > BEHIND_MAX
    const read = isBehind
      ? await sourceReader.newest(layout, partition, limit)
      : await sourceReader.from(layout, partition, position, limit)
    const first = read.records[0]?.offset ?? end
    if (isBehind && position !== undefined && first > position) skipped += first - position
    const last = read.records.at(-1)?.offset
    next[partition] = String(last === undefined || isBehind ? end : last + 1n)
    records = [...records, ...read.records]
  }
  const fit = fitting(records, PASS_BYTES_MAX, 'first')
  return { records: fit, skipped: skipped + BigInt(records.length - fit.length), positions: next }
}

const examplesWith = (known: Difference[], found: Difference[]): Difference[] =>
  [...known, ...found.filter((each) => JSON.stringify(each).length <= EXAMPLE_BYTES_MAX)].slice(0, EXAMPLES_MAX)

/** Why the canary is rolled back; null while it is not. */
function verdictOf({ max_failing, max_differing }: CanaryRow, compared: bigint, differing: bigint, failed: bigint): string | null {
  if (compared < JUDGED_FROM && failed === 0n) return null
  if (Number(failed) > max_failing * Number(compared))
    return `failed ${failed} of ${compared} records that the running version handles; ${max_failing} of them are allowed`
  if (compared >= JUDGED_FROM && Number(differing) > max_differing * Number(compared))
    return `differs in ${differing} of ${compared} records; ${max_differing} of them are allowed`
  return null
}

async function compareNext(deps: CanaryDeps, row: CanaryRow, { definition }: PipelineRow): Promise<void> {
  const next = await nextRecords(deps, definition.source_topic, row.positions)
  if (!next || (next.records.length === 0 && next.skipped === 0n && Object.keys(row.positions).length > 0)) return
  const found = await compareSteps(deps, definition, row.step, row.definition, next.records)
  const compared = BigInt(row.compared) + BigInt(found.compared)
  const differing = BigInt(row.differing) + BigInt(found.differences.length)
  const failed = BigInt(row.failed) + BigInt(found.failed)
  const reason = verdictOf(row, compared, differing, failed)
  await saveCanary(deps.db, row, {
    compared,
    differing,
    failed,
    skipped: BigInt(row.skipped) + next.skipped + BigInt(found.left),
    positions: next.positions,
    examples: examplesWith(row.examples, found.differences),
    status: reason === null ? 'comparing' : 'rolled_back',
    status_reason: reason,
  })
}

/** One pass over all canaries, the ones that have waited longest first. */
export async function compareCanaries(deps: CanaryDeps): Promise<void> {
  const rows = await listComparing(deps.db)
  for (const row of rows.slice(0, LIMITS.canaries_per_pass)) {
    const pipeline = await findPipeline(deps.db, row.account_id, row.pipeline_id)
    if (pipeline?.desired !== 'running') continue
    await compareNext(deps, row, pipeline).catch((error: unknown) =>
      deps.log.warn({ pipeline_id: row.pipeline_id, reason: reasonOf(error) }, 'a canary can’t be compared now'),
    )
  }
}
