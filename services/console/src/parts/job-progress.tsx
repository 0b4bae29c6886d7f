/** A redrive as it goes, until it has ended. */
import { useEffect, useState } from 'preact/hooks'
import type { Job } from '../../../../clients/typescript/src/generated/types.ts'
import { get } from '../api.ts'
import { count } from '../format.ts'

const POLL_MS = 500

export function JobProgress({ jobId: job_id, onDone }: { jobId: string; onDone(): void }) {
  const [job, setJob] = useState<Job>()
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    const ask = async (): Promise<void> => {
      const found = await get<Job>(`/jobs/${job_id}`).catch(() => undefined)
      if (found) setJob(found)
      if (found && ['finished', 'failed', 'cancelled'].includes(found.status)) onDone()
      else timer = setTimeout(ask, POLL_MS)
    }
    void ask()
    return () => clearTimeout(timer)
  }, [job_id])
  if (!job) return <p class="quiet">The redrive starts…</p>
  const { in: handled, out, filtered, failed } = job.records
  const delivered = job.status === 'finished' ? out : undefined
  return (
    <div role="status" class="progress">
      <progress value={job.status === 'finished' ? 1 : job.progress} aria-label="Progress of the redrive" />{' '}
      {delivered === undefined ? (
        <>
          {job.status}: {count(handled)} of {count(job.total)}
        </>
      ) : (
        <strong class={failed > 0 ? 'bad' : 'good'}>
          {count(out)} of {count(handled)} delivered{filtered > 0 && `, ${count(filtered)} filtered`}
          {failed > 0 && `, ${count(failed)} failed again`}
        </strong>
      )}
      {job.status_reason && <p class="refused">{job.status_reason}</p>}
    </div>
  )
}
