/** What failed, in groups; and the way out: change the step, see what becomes of these very records, save, and run them again. */
import { useLocation } from 'preact-iso'
import type {
  DeadLetter,
  DeadLetterGroup,
  ListDeadLetterGroupsResponse,
  ListDeadLettersResponse,
  ListJobsResponse,
  Pipeline,
} from '../../../../clients/typescript/src/generated/types.ts'
import { HOME, withQuery } from '../api.ts'
import { count } from '../format.ts'
import { Became } from '../parts/job-progress.tsx'
import { Paged } from '../parts/paged.tsx'
import { Badge } from '../parts/badge.tsx'
import { Loaded } from '../parts/failures.tsx'
import { Time } from '../parts/time.tsx'
import { Title } from '../parts/title.tsx'
import { FixGroup, LETTER_COLUMNS, letterRow } from '../parts/fix-group.tsx'
import { useQuery } from '../query.ts'

const keyOf = ({ step, module, version, error_code, pattern }: DeadLetterGroup): string =>
  [step, module, version, error_code].join('|') + (pattern === null ? '' : `\n${pattern}`)

export function DeadLetters({ id }: { id: string }) {
  const { query, path } = useLocation()
  const pipeline = useQuery<Pipeline>(`/pipelines/${id}`)
  const groups = useQuery<ListDeadLetterGroupsResponse>(`/pipelines/${id}/dead-letters/groups`, 5000)
  const jobs = useQuery<ListJobsResponse>(`/jobs?pipeline_id=${id}&page_size=100`, 5000).data?.jobs ?? []
  const redrives = jobs.filter(({ kind }) => kind === 'redrive')
  const name = pipeline.data?.name ?? 'pipeline'
  return (
    <>
      <Title text={`Dead letters of ${name}`}>
        <a class="button second" href={`${HOME.pathname}pipelines/${id}`}>
          Pipeline
        </a>
      </Title>
      <Loaded query={groups}>
        {({ groups: found }) =>
          found.length === 0 && query.group === undefined ? (
            <p class="quiet">
              No record of this pipeline waits here.
              {pipeline.data?.status_reason && ` The pipeline is ${pipeline.data.status}: ${pipeline.data.status_reason}`}
            </p>
          ) : (
            <ul class="groups">
              {found.map((group) => (
                <li key={keyOf(group)} class={query.group === keyOf(group) ? 'chosen' : undefined}>
                  <a href={withQuery(path, { group: keyOf(group) })}>
                    <b>{count(group.count)}</b> × <code>{group.error_code}</code> in{' '}
                    {group.module === '' ? 'the sink' : `step ${group.step} (${group.module} ${group.version})`}
                  </a>
                  <small>
                    {group.count > 1 && 'the newest: '}
                    {group.message} · first <Time at={group.first_failed_at} />, last <Time at={group.last_failed_at} />
                  </small>
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
      {query.group !== undefined && pipeline.data && (
        <FixGroup key={query.group} pipeline={pipeline.data} group={query.group} onChanged={() => (pipeline.refresh(), groups.refresh())} />
      )}
      <section aria-labelledby="redriven">
        <h2 id="redriven">Redriven</h2>
        <ul>
          {redrives.slice(0, 5).map((job) => (
            <li key={job.id}>
              <Time at={job.created_at} />: <Became job={job} /> {job.status !== 'finished' && <Badge text={job.status} />}
            </li>
          ))}
        </ul>
        <Paged<ListDeadLettersResponse, DeadLetter>
          label="Redriven records"
          path={(page) => withQuery(`/pipelines/${id}/dead-letters`, { status: 'redriven', sort: '-failed_at', page, page_size: 20 })}
          items={({ dead_letters }) => dead_letters}
          columns={[...LETTER_COLUMNS, 'Redriven']}
          none="No record has got through a redrive yet; one that fails again waits above."
          everyMs={5000}
          row={(letter) => {
            const job = jobs.find((each) => each.id === letter.job_id)
            return letterRow(
              id,
              letter,
              <td>
                <Badge text={letter.status} /> {job && <Time at={job.updated_at} />}
              </td>,
            )
          }}
        />
      </section>
    </>
  )
}
