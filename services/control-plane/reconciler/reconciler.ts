/**
 * Finishes or undoes what a crash or an outage left half done. One control plane at a time does it (an advisory lock); every step is
 * idempotent.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { ADVISORY_LOCKS, keptAwake, limitIdleTime, ping, tryLock } from '../store/locks.ts'
import { reasonOf } from '../../../shared/errors/reason-of.ts'
import { createAttempts } from './attempts.ts'
import { createCanaryComparer } from '../upkeep/compare-canaries.ts'
import { createBinarySweeper } from '../upkeep/sweep-binaries.ts'
import { createReportSweeper } from '../upkeep/sweep-reports.ts'
import { createDeadLetterTrimmer } from '../upkeep/trim-dead-letters.ts'
import { applyCpuQuotas } from '../upkeep/cpu-quotas.ts'
import { deleteOldAudit } from '../store/audit.ts'
import { deleteOldKeys } from '../store/idempotency.ts'
import { listUnfinishedPipelines, type PipelineRow } from '../store/pipelines.ts'
import { listUnfinishedStreams, type StreamRow } from '../store/streams.ts'
import { beginUndo } from '../store/unfinished.ts'
import type { Deps } from '../deps.ts'
import { settleUnfinishedJobs } from '../jobs/unfinished.ts'
import { createOffsetKeeper } from '../upkeep/keep-offsets.ts'
import { createAdoptedFollower } from '../upkeep/adopted-streams.ts'
import { createIntakeTrimmer } from '../upkeep/trim-intakes.ts'
import { setUpPipeline, isDrained, takeDownPipeline } from './pipelines.ts'
import { setUpStream, takeDownStream } from './streams.ts'

const PASS_MS = 5000
/** Postgres ends the pass of a process that stands still for this long, so that another can take over. */
const SLEEP_MS = 30_000
const AWAKE_MS = 5000
/** Younger rows may belong to a request that is still in progress. */
const UNFINISHED_AFTER_MS = 15_000
/** A create that could not be finished for this long is undone. */
const UNDO_AFTER_MS = 120_000
/** A pipeline being deleted waits at most this long for its tasks to report that they stopped: their processors may be gone. */
const DRAIN_MAX_MS = 30_000
/** How long a pass attends to unfinished streams, and then to pipelines, before the rest of the upkeep has its turn. */
const BUDGET_MS = 10_000

export function startReconciler(deps: Deps): { close(): Promise<void> } {
  const { db, log } = deps
  const followAdoptedStreams = createAdoptedFollower(deps)
  const keepOffsets = createOffsetKeeper(deps)
  const attempts = createAttempts(deps)
  const { attempt } = attempts
  const trimIntakes = createIntakeTrimmer(deps)
  const trimDeadLetters = createDeadLetterTrimmer(deps)
  const sweepBinaries = createBinarySweeper(deps)
  let following: Promise<void> | undefined
  let comparing: Promise<void> | undefined
  let sweeping: Promise<void> | undefined
  const stop = new AbortController()
  const isStopped = () => stop.signal.aborted
  const sweepReports = createReportSweeper(deps, isStopped)
  const compareCanaries = createCanaryComparer(deps, isStopped)

  const isOld = ({ created_at }: { created_at: Date }): boolean => Date.now() - created_at.getTime() > UNDO_AFTER_MS

  async function finishStream(stream: StreamRow): Promise<void> {
    if (stream.status === 'creating' && !isOld(stream)) return attempt('set up a stream', stream, () => setUpStream(deps, stream))
    // It may have been made since it was listed.
    if (stream.status === 'creating' && !(await beginUndo(db, 'streams', stream.id))) return
    await attempt('remove a stream', stream, () => takeDownStream(deps, stream))
  }

  async function finishPipeline(pipeline: PipelineRow): Promise<void> {
    const takeDown = () => attempts.attemptAside('remove a pipeline', pipeline, () => takeDownPipeline(deps, pipeline))
    if (pipeline.status === 'creating' && !isOld(pipeline))
      return attempt('set up a pipeline', pipeline, () => setUpPipeline(deps, pipeline))
    if (pipeline.status === 'creating') {
      if (await beginUndo(db, 'pipelines', pipeline.id)) await takeDown()
    } else if ((await isDrained(db, pipeline)) || Date.now() - pipeline.updated_at.getTime() > DRAIN_MAX_MS) await takeDown()
  }

  const warn = (what: string) => (error: unknown) => log.warn({ reason: reasonOf(error) }, `reconciler: ${what} now`)

  async function pass(): Promise<void> {
    await db.transaction(async (lock) => {
      await limitIdleTime(lock, SLEEP_MS)
      if (await tryLock(lock, ADVISORY_LOCKS.reconciler)) await keptAwake(lock, AWAKE_MS, () => work(() => ping(lock)))
    })
  }

  /** `assertLocked` throws where another process may do this by now. */
  async function work(assertLocked: () => Promise<void>): Promise<void> {
    const whileLocked =
      <T>(finish: (row: T) => Promise<void>) =>
      async (row: T) => {
        await assertLocked()
        await finish(row)
      }
    const held = attempts.waiting()
    await attempts.each(await listUnfinishedStreams(db, UNFINISHED_AFTER_MS, held), BUDGET_MS, whileLocked(finishStream))
    await attempts.each(await listUnfinishedPipelines(db, UNFINISHED_AFTER_MS, held), BUDGET_MS, whileLocked(finishPipeline))
    const steps = [
      () => settleUnfinishedJobs(deps),
      () => keepOffsets().catch(warn('offsets are not kept')),
      () => trimIntakes().catch(warn('intake topics are not trimmed')),
      () => trimDeadLetters().catch(warn('dead letters are not trimmed')),
      () => sweepBinaries().catch(warn('binaries are not swept')),
      () => applyCpuQuotas(deps, Date.now()).catch(warn('CPU quotas are not looked at')),
      () => deleteOldKeys(db),
      () => deleteOldAudit(db),
    ]
    for (const step of steps) {
      await assertLocked()
      await step()
    }
    // Not awaited: a slow SmartModule or registry must not hold up the rest.
    comparing ??= compareCanaries()
      .catch(warn('canaries are not compared'))
      .finally(() => (comparing = undefined))
    following ??= followAdoptedStreams()
      .catch(warn('adopted streams can’t be checked'))
      .finally(() => (following = undefined))
    // Nor must two topics that are read through.
    sweeping ??= sweepReports()
      .catch(warn('reports are not swept'))
      .finally(() => (sweeping = undefined))
  }

  const loop = (async () => {
    while (!isStopped()) {
      await pass().catch((error: unknown) => log.warn({ reason: reasonOf(error) }, 'reconciler: the pass failed'))
      await sleep(PASS_MS, undefined, { signal: stop.signal }).catch(() => {})
    }
  })()
  return {
    async close() {
      stop.abort()
      await loop
      // A comparison under way ends with the workshop; nothing of it is half written.
      await following
      await sweeping
    },
  }
}
