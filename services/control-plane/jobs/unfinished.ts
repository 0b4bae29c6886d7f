/** Settles jobs whose task has ended but that were not settled then, because of a crash for example. Run by the reconciler. */
import { reasonOf } from '../../../shared/errors/reason-of.ts'
import { isTaskOver } from '../../../shared/model/observed.ts'
import { listUnfinishedJobs, type ListedJob } from '../store/jobs.ts'
import { listObserved } from '../store/observed.ts'
import type { Deps } from '../deps.ts'
import { settleJob } from './jobs.ts'

/** A cancelled job is settled after this time even if its task never reported that it stopped (its processor may be gone). */
const CANCEL_MAX_MS = 30_000

type SettleDeps = Pick<Deps, 'cluster' | 'db' | 'log' | 'notifyPublisher' | 'withAdmin'>

export async function settleUnfinishedJobs(deps: SettleDeps): Promise<void> {
  for (const job of await listUnfinishedJobs(deps.db))
    // One whose definition a later version has written must not keep the others from being settled.
    await settleUnfinished(deps, job).catch((error: unknown) =>
      deps.log.warn({ id: job.id, reason: reasonOf(error) }, 'a job was not settled, will be tried again'),
    )
}

async function settleUnfinished(deps: SettleDeps, job: ListedJob): Promise<void> {
  const last = (await listObserved(deps.db, job.id))[0]
  if (last && isTaskOver(last)) await settleJob(deps, job.id, last.status, last.reason)
  else if (job.status === 'cancelling' && (last?.status === 'stopped' || Date.now() - job.updated_at.getTime() > CANCEL_MAX_MS))
    await settleJob(deps, job.id, 'cancelled', null)
}
