/** Redrives and replays, the newest first. */
import type { GetOverviewResponse, ListJobsResponse } from '../../../../clients/typescript/src/generated/types.ts'
import { HOME, post, withQuery } from '../api.ts'
import { Became } from '../parts/job-progress.tsx'
import { Paged } from '../parts/paged.tsx'
import { Badge } from '../parts/badge.tsx'
import { Time } from '../parts/time.tsx'
import { Title } from '../parts/title.tsx'
import { useQuery } from '../query.ts'
import { may } from '../session.ts'

type Status = ListJobsResponse['jobs'][number]['status']
const STATUSES: Record<Status, true> = { starting: true, running: true, cancelling: true, finished: true, failed: true, cancelled: true }

export function Jobs() {
  const overview = useQuery<GetOverviewResponse>('/overview')
  const names = new Map(overview.data?.pipelines.map(({ id, name }) => [id, name]))
  return (
    <>
      <Title text="Jobs" />
      <Paged<ListJobsResponse, ListJobsResponse['jobs'][number]>
        label="Jobs"
        path={(page, chosen) => withQuery('/jobs', { ...chosen, page, page_size: 50, sort: '-created_at' })}
        filters={{
          status: { title: 'Status', choices: Object.keys(STATUSES).map((each) => [each, each] as const) },
          pipeline_id: { title: 'Pipeline', choices: [...names] },
        }}
        items={({ jobs }) => jobs}
        everyMs={2000}
        columns={['Job', 'Pipeline', 'Status', 'Progress', 'Records', 'Started']}
        none="Nothing was redriven or replayed yet."
        row={({ id, kind, pipeline_id, status, status_reason, progress, records, created_at }, refresh) => (
          <tr key={id}>
            <th scope="row">
              {kind}
              {status_reason && <small>{status_reason}</small>}
            </th>
            <td>
              <a href={`${HOME.pathname}pipelines/${pipeline_id}`}>{names.get(pipeline_id) ?? pipeline_id}</a>
            </td>
            <td>
              <Badge text={status} tone={records.failed > 0 ? 'bad' : undefined} />
              {(status === 'starting' || status === 'running') && may('pipelines:write') && (
                <button type="button" class="plain" onClick={() => void post(`/jobs/${id}/cancel`).then(refresh, refresh)}>
                  cancel
                </button>
              )}
            </td>
            <td>
              <progress value={progress} aria-label={`Progress of ${id}`} />
            </td>
            <td>
              <Became job={{ kind, records }} />
            </td>
            <td>
              <Time at={created_at} />
            </td>
          </tr>
        )}
      />
    </>
  )
}
