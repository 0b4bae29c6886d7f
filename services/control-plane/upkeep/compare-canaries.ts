/**
 * Canaries: a workshop runs another version over the source's records as they come, and delivers none of its output. It can't hold up or
 * harm the pipeline: where records come faster than it can compare, it skips. No task knows of a canary in shadow. One with a share is
 * compared too, and also judged by what the tasks report of it. Both are rolled back by `roll-back-canary.ts`.
 */
import type { Difference } from '../../../shared/api/canary.ts'
import { LIMITS } from '../../../shared/model/limits.ts'
import { reasonOf } from '../../../shared/errors/reason-of.ts'
import { CANARY_JUDGED_FROM, failsTooMany } from '../../../shared/smartmodule/canary-share.ts'
import type { Deps } from '../deps.ts'
import { rollBack, canaryFault } from './roll-back-canary.ts'
import { listComparing, markLookedAt, saveCanary, type CanaryRow } from '../store/canaries.ts'
import { findPipeline, type PipelineRow } from '../store/pipelines.ts'
import { compareSteps } from '../trace/compare-steps.ts'
import { sizeOf, fitting } from '../trace/source-records.ts'
import type { SourceRecord } from '../trace/trace.ts'

type CanaryDeps = Pick<
  Deps,
  'db' | 'cluster' | 'sourceReader' | 'connectorDefaults' | 'cacheFolder' | 'workshop' | 'log' | 'notifyPublisher'
>

/** Records of one pass; the first pass reads the newest ones, so that a quiet stream shows something too. */
const PASS_RECORDS = 200
const PASS_BYTES_MAX = 2 << 20
/** Further behind than this it goes on at the newest records. */
const BEHIND_MAX = 5000n
/** No client waits for it. On a busy machine what a client waits for may be too little each time, and nothing would ever be compared. */
const TRACE_WALL_MS = 45_000
const EXAMPLES_MAX = 20
const EXAMPLE_BYTES_MAX = 16 << 10

/** The records after `positions`, from one partition on that changes from pass to pass, and where the next pass goes on. */
async function nextRecords({ cluster, sourceReader }: CanaryDeps, topic: string, positions: Record<string, string>, pass: number) {
  const layout = await cluster.describeTopic(topic)
  if (!layout) return undefined
  const partitions = [...layout.leaders.keys()]
  const first = pass % partitions.length
  const inTurn = [...partitions.slice(first), ...partitions.slice(0, first)]
  const bounds = await cluster.bounds(layout)
  const perPartition = Math.max(1, Math.floor(PASS_RECORDS / partitions.length))
  const next: Record<string, string> = { ...positions }
  let records: SourceRecord[] = []
  let bytes = 0
  let skipped = 0n
  for (const partition of inTurn) {
    if (records.length >= PASS_RECORDS || bytes >= PASS_BYTES_MAX) break
    const { start, end } = bounds.get(partition)!
    const known = positions[partition]
    const position = known === undefined ? undefined : BigInt(known)
    if (position === end) continue
    // Also where the log holds the position no longer, or was emptied.
    const isBehind = position === undefined || position < start || position > end || end - position > BEHIND_MAX
    const read = isBehind
      ? await sourceReader.newest(layout, partition, perPartition)
      : await sourceReader.from(layout, partition, position, perPartition)
    const fit = fitting(read.records, PASS_BYTES_MAX, isBehind ? 'last' : 'first')
    const [oldest, newest] = [fit[0]?.offset, fit.at(-1)?.offset]
    if (isBehind && position !== undefined && position < end) skipped += (oldest ?? end) - position
    const after = newest === undefined ? end : newest + 1n
    next[partition] = String(isBehind && after < end ? end : after)
    records = [...records, ...fit]
    bytes += fit.reduce((sum, each) => sum + sizeOf(each), 0)
  }
  return { records, skipped, positions: next }
}

const examplesWith = (known: Difference[], found: Difference[]): Difference[] =>
  [...known, ...found.filter((each) => JSON.stringify(each).length <= EXAMPLE_BYTES_MAX)].slice(0, EXAMPLES_MAX)

/** Why the canary is rolled back; null while it is not. */
function rollbackReason({ max_failing, max_differing }: CanaryRow, compared: bigint, differing: bigint, failed: bigint): string | null {
  if (failsTooMany(Number(failed), Number(compared), max_failing))
    return `failed ${failed} of ${compared} records that the running version handles; ${max_failing} of them are allowed`
  if (compared >= BigInt(CANARY_JUDGED_FROM) && Number(differing) > max_differing * Number(compared))
    return `differs in ${differing} of ${compared} records; ${max_differing} of them are allowed`
  return null
}

async function compareNext(deps: CanaryDeps, row: CanaryRow, pipeline: PipelineRow, pass: number): Promise<void> {
  const { definition } = pipeline
  const fault = row.share === null ? undefined : await canaryFault(deps, row, pipeline)
  if (fault) return rollBack(deps, row, fault.reason, fault.hasFailed)
  const next = await nextRecords(deps, definition.source.topic, row.positions, pass)
  if (!next || JSON.stringify(next.positions) === JSON.stringify(row.positions)) return
  const found = await compareSteps({ ...deps, traceWallMs: TRACE_WALL_MS }, definition, row.step, row.definition, next.records)
  const compared = BigInt(row.compared) + BigInt(found.compared)
  const differing = BigInt(row.differing) + BigInt(found.differences.length)
  const failed = BigInt(row.failed) + BigInt(found.failed)
  const reason = rollbackReason(row, compared, differing, failed)
  await saveCanary(deps.db, row, {
    compared,
    differing,
    failed,
    skipped: BigInt(row.skipped) + next.skipped + BigInt(found.left),
    positions: next.positions,
    examples: examplesWith(row.examples, found.differences),
  })
  if (reason !== null) await rollBack(deps, row, reason)
}

/** Slow SmartModules must not keep the others waiting: what does not get its turn in this time comes first in the next pass. */
const PASS_MAX_MS = 60_000

/** One pass over the canaries, which ends early once `isClosed`. Where two passes meet, the first to store what it found wins. */
export function createCanaryComparer(deps: CanaryDeps, isClosed: () => boolean): () => Promise<void> {
  let passes = 0
  return async () => {
    const until = performance.now() + PASS_MAX_MS
    passes++
    for (const row of await listComparing(deps.db, LIMITS.canaries_per_pass)) {
      if (isClosed() || performance.now() > until) return
      await markLookedAt(deps.db, row.pipeline_id)
      const pipeline = await findPipeline(deps.db, row.account_id, row.pipeline_id)
      if (!pipeline) continue
      await compareNext(deps, row, pipeline, passes).catch((error: unknown) =>
        deps.log.warn({ pipeline_id: row.pipeline_id, reason: reasonOf(error) }, 'a canary can’t be compared now'),
      )
    }
  }
}
