/** Runs what one revision handled through the chain as it is now, and shows how far it is. */
import { useState } from 'preact/hooks'
import type { GetPipelineLedgerResponse, GetPipelineOffsetsResponse, Job } from '../../../../clients/typescript/src/generated/types.ts'
import { get, post } from '../api.ts'
import { count } from '../format.ts'
import { useAction } from '../query.ts'
import { JobProgress } from './job-progress.tsx'
import { Refused } from './failures.tsx'

type Entry = GetPipelineLedgerResponse['entries'][number]
type Range = { from: Record<string, number>; to: Record<string, number> }

/** The offsets that a revision handled: from its border to the next revision's, or to the position; less what the topic no longer holds. */
export function rangeOf(entries: Entry[], revision: number, { partitions }: Pick<GetPipelineOffsetsResponse, 'partitions'>): Range {
  const [from, to]: [Range['from'], Range['to']] = [{}, {}]
  for (const { partition, start, position } of partitions) {
    const own = entries.filter((each) => each.partition === partition).toSorted((a, b) => a.from_offset - b.from_offset)
    const index = own.findIndex((each) => each.revision === revision)
    if (index < 0) continue
    const first = Math.max(start, own[index]!.from_offset)
    const until = Math.max(start, own[index + 1]?.from_offset ?? position)
    if (until > first) [from[partition], to[partition]] = [first, until]
  }
  return { from, to }
}

export function Replay({ id, revision, entries }: { id: string; revision: number; entries: Entry[] }) {
  const { run, isBusy, failure } = useAction()
  const [range, setRange] = useState<Range>()
  const [job, setJob] = useState<string>()
  const total = range && Object.entries(range.to).reduce((sum, [partition, until]) => sum + until - range.from[partition]!, 0)

  const ask = async (): Promise<void> =>
    setRange(rangeOf(entries, revision, await get<GetPipelineOffsetsResponse>(`/pipelines/${id}/offsets`)))
  const start = async (): Promise<void> => {
    const { job_id } = await post<Job>(`/pipelines/${id}/replay`, { from: { offsets: range!.from }, to: { offsets: range!.to } })
    setRange(undefined)
    setJob(job_id)
  }

  return (
    <>
      {total === undefined ? (
        <button type="button" class="plain" disabled={isBusy} onClick={() => void run(ask)}>
          replay what it handled
        </button>
      ) : total === 0 ? (
        <span class="quiet">the topic holds none of it any more</span>
      ) : (
        <>
          <span class="quiet">What comes out of the chain as it is now is delivered once more. </span>
          <button type="button" class="plain" onClick={() => setRange(undefined)}>
            no
          </button>
          <button type="button" class="danger" disabled={isBusy} onClick={() => void run(start)}>
            Yes, run {count(total)} offsets again
          </button>
        </>
      )}
      <Refused failure={failure} />
      {job !== undefined && <JobProgress key={job} jobId={job} onDone={() => {}} />}
    </>
  )
}
