/**
 * Finishes or undoes what a crash or an outage left half done. One control plane at a time does it (an advisory lock); every step is
 * idempotent.
 */
import { ADVISORY_LOCKS, tryLock } from '../store/locks.ts'
import { reasonOf } from '../../../shared/errors/reason-of.ts'
import { createCanaryComparer } from './compare-canaries.ts'
import { createBinarySweeper } from './sweep-binaries.ts'
import { createDeadLetterTrimmer } from './trim-dead-letters.ts'
import { applyCpuQuotas } from './cpu-quotas.ts'
import { deleteOldAudit } from '../store/audit.ts'
import { deleteOldKeys } from '../store/idempotency.ts'
import { listUnfinishedPipelines, updatePipeline } from '../store/pipelines.ts'
import { listUnfinishedStreams, updateStream } from '../store/streams.ts'
import type { Deps } from '../deps.ts'
import { settleUnfinishedJobs } from '../jobs/unfinished.ts'
import { createOffsetKeeper } from './keep-offsets.ts'
import { createAdoptedFollower } from './adopted-streams.ts'
import { createIntakeTrimmer } from './trim-intakes.ts'
import { setUpPipeline, isDrained, takeDownPipeline } from './pipelines.ts'
import { setUpStream, takeDownStream } from './streams.ts'

const PASS_MS = 5000
/** Younger rows may belong to a request that is still in progress. */
const UNFINISHED_AFTER_MS = 15_000
/** A create that could not be finished for this long is undone. */
const UNDO_AFTER_MS = 120_000
/** A pipeline being deleted waits at most this long for its tasks to report that they stopped: their processors may be gone. */
const DRAIN_MAX_MS = 30_000

export function startReconciler(deps: Deps): { close(): Promise<void> } {
  const { db, log } = deps
  const followAdoptedStreams = createAdoptedFollower(deps)
  const keepOffsets = createOffsetKeeper(deps)
  const trimIntakes = createIntakeTrimmer(deps)
  const trimDeadLetters = createDeadLetterTrimmer(deps)
  const sweepBinaries = createBinarySweeper(deps)
  let following: Promise<void> | undefined
  let comparing: Promise<void> | undefined
  let closed = false
  const compareCanaries = createCanaryComparer(deps, () => closed)

  async function attempt(what: string, id: string, work: () => Promise<void>): Promise<void> {
    try {
      await work()
      log.info({ id }, `reconciler: done: ${what}`)
    } catch (error) {
      log.warn({ id, reason: reasonOf(error) }, `reconciler: could not ${what} yet, will try again`)
    }
  }

  const warn = (what: string) => (error: unknown) => log.warn({ reason: reasonOf(error) }, `reconciler: ${what} now`)

  async function pass(): Promise<void> {
    await db.transaction(async (lock) => {
      if (!(await tryLock(lock, ADVISORY_LOCKS.reconciler))) return
      for (const stream of await listUnfinishedStreams(db, UNFINISHED_AFTER_MS)) {
        const isOld = Date.now() - stream.created_at.getTime() > UNDO_AFTER_MS
        if (stream.status === 'creating' && !isOld) await attempt('set up a stream', stream.id, () => setUpStream(deps, stream))
        else {
          await updateStream(db, stream.id, { status: 'deleting' })
          await attempt('remove a stream', stream.id, () => takeDownStream(deps, stream))
        }
      }
      for (const pipeline of await listUnfinishedPipelines(db, UNFINISHED_AFTER_MS)) {
        const isOld = Date.now() - pipeline.created_at.getTime() > UNDO_AFTER_MS
        if (pipeline.status === 'creating' && !isOld) await attempt('set up a pipeline', pipeline.id, () => setUpPipeline(deps, pipeline))
        else if (pipeline.status === 'creating') {
          await updatePipeline(db, pipeline.id, { status: 'deleting' })
          await attempt('remove a pipeline', pipeline.id, () => takeDownPipeline(deps, pipeline))
        } else if ((await isDrained(db, pipeline)) || Date.now() - pipeline.updated_at.getTime() > DRAIN_MAX_MS)
          await attempt('remove a pipeline', pipeline.id, () => takeDownPipeline(deps, pipeline))
      }
      await settleUnfinishedJobs(deps)
      await keepOffsets(Date.now()).catch(warn('offsets are not kept'))
      await trimIntakes(Date.now()).catch(warn('intake topics are not trimmed'))
      await trimDeadLetters(Date.now()).catch(warn('dead letters are not trimmed'))
      await sweepBinaries(Date.now()).catch(warn('binaries are not swept'))
      await applyCpuQuotas(deps, Date.now()).catch(warn('CPU quotas are not looked at'))
      await deleteOldKeys(db)
      await deleteOldAudit(db)
      // Not awaited: a slow SmartModule or registry must not hold up the rest.
      comparing ??= compareCanaries(Date.now())
        .catch(warn('canaries are not compared'))
        .finally(() => (comparing = undefined))
      following ??= followAdoptedStreams()
        .catch(warn('adopted streams can’t be checked'))
        .finally(() => (following = undefined))
    })
  }

  const loop = (async () => {
    while (!closed) {
      await pass().catch((error: unknown) => log.warn({ reason: reasonOf(error) }, 'reconciler: the pass failed'))
      for (let waited = 0; waited < PASS_MS && !closed; waited += 100) await new Promise((resolve) => setTimeout(resolve, 100))
    }
  })()
  return {
    async close() {
      closed = true
      await loop
      // A comparison under way ends with the workshop; nothing of it is half written.
      await following
    },
  }
}
