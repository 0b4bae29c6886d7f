/** All pipelines, those that need attention first. */
import { useLocation } from 'preact-iso'
import type { PipelineGlance } from '../../../../clients/typescript/src/generated/types.ts'
import { HOME, withQuery } from '../api.ts'
import { compact, count, rate } from '../format.ts'
import { Badge } from '../parts/badge.tsx'
import { Loaded } from '../parts/failures.tsx'
import { Figure } from '../parts/figure.tsx'
import { Table } from '../parts/table.tsx'
import { Time } from '../parts/time.tsx'
import { Title } from '../parts/title.tsx'
import { useRowKeys } from '../parts/row-keys.ts'
import { useOverview } from '../overview-feed.ts'
import { may } from '../session.ts'

function Row({ each }: { each: PipelineGlance }) {
  const isIdle = each.status === 'running' && each.records_per_second === 0 && each.lag === 0
  return (
    <tr class={each.attention ? 'attention' : undefined}>
      <th scope="row">
        <a href={`${HOME.pathname}pipelines/${each.id}`}>{each.name}</a>
        {each.attention && <small>{each.attention}</small>}
      </th>
      <td>
        <Badge text={each.status} />
      </td>
      <td class="number" data-of="Rate">
        {isIdle ? <span class="quiet">idle</span> : `${rate(each.records_per_second)}/s`}
      </td>
      <td class="number" data-of="Lag" title={`${count(each.lag)} offsets`}>
        {compact(each.lag)}
      </td>
      <td class="number" data-of="Dead letters">
        {each.dead_letters === 0 ? '0' : <a href={`${HOME.pathname}pipelines/${each.id}/dead-letters`}>{compact(each.dead_letters)}</a>}
      </td>
      <td>
        <Time at={each.changed_at} />
      </td>
    </tr>
  )
}

/** A row whose pipeline has not changed is the same as before, and is not drawn again. */
const drawn = new WeakMap<PipelineGlance, ReturnType<typeof Row>>()
function rowOf(each: PipelineGlance) {
  const known = drawn.get(each) ?? <Row key={each.id} each={each} />
  drawn.set(each, known)
  return known
}

export function Overview() {
  const { query, route, path } = useLocation()
  const overview = useOverview()
  const wanted = (query.q ?? '').toLowerCase()
  const rows = useRowKeys()
  return (
    <>
      <Title text="Pipelines">
        {may('pipelines:write') && (
          <a class="button" href={`${HOME.pathname}start`}>
            New pipeline
          </a>
        )}
      </Title>
      <Loaded query={overview}>
        {({ pipelines, totals }) => {
          const shown = pipelines.filter(({ name, status }) => name.toLowerCase().includes(wanted) || status === wanted)
          return (
            <>
              <dl class="figures">
                <Figure name="need attention">
                  <span class={totals.attention > 0 ? 'bad' : undefined}>{totals.attention}</span> of {totals.pipelines}
                </Figure>
                <Figure name="records a second">{rate(totals.records_per_second)}</Figure>
                <Figure name="lag" note={`${count(totals.lag)} offsets`}>
                  {compact(totals.lag)}
                </Figure>
                <Figure name="dead letters">{count(totals.dead_letters)}</Figure>
              </dl>
              {totals.pipelines === 0 ? (
                <p class="quiet">
                  There are no pipelines yet. <a href={`${HOME.pathname}start`}>Make the first one</a> from a few lines of JSON.
                </p>
              ) : (
                <>
                  <input
                    type="search"
                    placeholder="Name or status"
                    aria-label="Filter by name or status"
                    value={query.q ?? ''}
                    onInput={({ currentTarget }) => route(withQuery(path, { q: currentTarget.value }), true)}
                  />
                  <Table label="Pipelines" columns={['Pipeline', 'Status', '#Rate', '#Lag', '#Dead letters', 'Since']} tableRef={rows}>
                    {shown.map(rowOf)}
                  </Table>
                  {shown.length === 0 && <p class="quiet">No pipeline has “{query.q}” in its name.</p>}
                </>
              )}
            </>
          )
        }}
      </Loaded>
    </>
  )
}
