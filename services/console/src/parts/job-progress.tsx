/** A redrive or replay as it goes, until it has ended. */
import { useEffect, useState } from 'preact/hooks'
import type { Job } from '../../../../clients/typescript/src/generated/types.ts'
import { Failure, get } from '../api.ts'
import { count } from '../format.ts'
import { Refused } from './failures.tsx'

const POLL_MS = 500

/** The results of a job's records. A redrive's had failed before. */
export function Became({ job: { kind, records } }: { job: Pick<Job, 'kind' | 'records'> }) {
  const { in: handled, out, filtered, skipped, failed } = records
  return (
    <span class={failed > 0 ? 'bad' : undefined}>
      {filtered + skipped > 0 ? `${count(out)} out` : `${count(out)} of ${count(handled)} delivered`}
      {filtered > 0 && `, ${count(filtered)} filtered`}
      {skipped > 0 && `, ${count(skipped)} skipped`}
      {failed > 0 && `, ${count(failed)} failed${kind === 'redrive' ? ' again' : ''}`}
    </span>
  )
}

export function JobProgress({ jobId: job_id, onDone }: { jobId: string; onDone(): void }) {
  const [job, setJob] = useState<Job>()
  const [failure, setFailure] = useState<Failure>()
  useEffect(() => {
    let isGone = false
    let timer: ReturnType<typeof setTimeout> | undefined
    const ask = async (): Promise<void> => {
      const found = await get<Job>(`/jobs/${job_id}`).catch((error: unknown) => (error instanceof Failure ? error : undefined))
      if (isGone) return
      if (found instanceof Failure && found.status >= 400 && found.status < 500) return setFailure(found)
      const isKnown = found !== undefined && !(found instanceof Failure)
      if (isKnown) setJob(found)
      if (isKnown && ['finished', 'failed', 'cancelled'].includes(found.status)) onDone()
      else timer = setTimeout(ask, POLL_MS)
    }
    void ask()
    return () => {
      isGone = true
      clearTimeout(timer)
    }
  }, [job_id])
  if (failure) return <Refused failure={failure} />
  if (!job) return <p class="quiet">It starts…</p>
  const isFinished = job.status === 'finished'
  return (
    <div role="status" class="progress">
      <progress value={isFinished ? 1 : job.progress} aria-label="Progress" />{' '}
      {!isFinished && `${job.status}: ${count(job.records.in)} of ${count(job.total)}`}
      {isFinished && (
        <strong class="good">
          <Became job={job} />
        </strong>
      )}
      {job.status_reason && <p class="refused">{job.status_reason}</p>}
    </div>
  )
}
