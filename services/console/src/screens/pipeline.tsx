/** One pipeline: what it does, whether every record is accounted for, where it stands, and what it says. */
import { writeJson } from '../../../../clients/typescript/src/core/exact-json.ts'
import { useLocation } from 'preact-iso'
import { useEffect, useState } from 'preact/hooks'
import type {
  GetPipelineAccountingResponse,
  GetPipelineLedgerResponse,
  GetPipelineLogsResponse,
  GetPipelineOffsetsResponse,
  GetPipelineStatusResponse,
  ListDeadLettersResponse,
  Pipeline as Definition,
  PreviewPipelineResponse,
  Stream,
} from '../../../../clients/typescript/src/generated/types.ts'
import { HOME, post } from '../api.ts'
import { compact, count, nanoseconds, rate } from '../format.ts'
import { Badge } from '../parts/badge.tsx'
import { Loaded, Refused } from '../parts/failures.tsx'
import { Figure } from '../parts/figure.tsx'
import { Table } from '../parts/table.tsx'
import { Time } from '../parts/time.tsx'
import { Title } from '../parts/title.tsx'
import { Canary } from '../parts/canary.tsx'
import { Hour } from '../parts/hour.tsx'
import { Remove } from '../parts/remove.tsx'
import { Replay } from '../parts/replay.tsx'
import { OFFERED_ACTIONS } from '../offered-actions.ts'
import { useAction, useQuery } from '../query.ts'
import { glimpse } from '../records.ts'
import { may } from '../session.ts'

const REFRESH_MS = 2000

/** One that was made to run starts by itself. */
const metBy = ({ status, desired }: GetPipelineStatusResponse): string =>
  status === 'created' && desired === 'running' ? 'starting' : status

function Actions({ id, status, onDone }: { id: string; status: string; onDone(): void }) {
  const { run, isBusy, failure } = useAction()
  if (!may('pipelines:write')) return null
  return (
    <div class="actions">
      {(OFFERED_ACTIONS[status] ?? []).map((action) => (
        <button
          key={action}
          type="button"
          class={/^(?:start|resume)$/.test(action) ? undefined : 'second'}
          disabled={isBusy}
          onClick={() => void run(() => post(`/pipelines/${id}/${action}`).then(onDone))}
        >
          {action}
        </button>
      ))}
      <Refused failure={failure} />
    </div>
  )
}

function Equation({ accounting: { totals, balanced } }: { accounting: GetPipelineAccountingResponse }) {
  const parts: [name: string, value: number][] = [
    ['out', totals.out],
    ['filtered', totals.filtered],
    ['skipped', totals.skipped],
    ['dead letters', totals.dead_lettered],
    ['in flight', totals.in_flight],
  ]
  return (
    <p
      class={`equation ${balanced ? '' : 'bad'}`}
      title="Of the source’s records, each as the pipeline handled it first. A redrive does not change these counts: its job has what became of them."
    >
      <span class="quiet">Since the pipeline was made:</span>
      <span>
        <b>{count(totals.in)}</b> in
      </span>
      <span aria-hidden="true">{balanced ? '=' : '≠'}</span>
      {parts.map(([name, value], index) => (
        <span key={name}>
          {index > 0 && '+ '}
          <b>{count(value)}</b> {value === 1 ? name.replace(/s$/, '') : name}
        </span>
      ))}
      {!balanced && <strong>It does not add up: some records are not accounted for.</strong>}
    </p>
  )
}

/** A source or sink: the stream by its name, any other system by its connector and what its config names. */
function End({ side, endpoint: { connector_id, config } }: { side: string; endpoint: Definition['source'] }) {
  const streamId = typeof config.stream_id === 'string' ? config.stream_id : undefined
  const stream = useQuery<Stream>(streamId === undefined ? null : `/streams/${streamId}`)
  const named = ['table', 'prefix', 'topic', 'url', 'stream', 'profile'].flatMap((name) =>
    typeof config[name] === 'string' ? [config[name]] : [],
  )
  return (
    <li>
      {streamId === undefined ? (
        <b>{connector_id.replace('conn_', '')}</b>
      ) : (
        <a href={`${HOME.pathname}streams/${streamId}`}>{stream.data?.name ?? streamId}</a>
      )}
      <small>
        {side}
        {named.length > 0 && ` · ${named.join(' ')}`}
      </small>
    </li>
  )
}

/** The steps' counts start from zero with each revision. */
function Chain({ definition, accounting }: { definition: Definition; accounting: GetPipelineAccountingResponse | undefined }) {
  return (
    <ol class="chain">
      <End side="source" endpoint={definition.source} />
      {definition.processors.map(({ name, version, config }, index) => {
        const counters = accounting?.steps[index]
        return (
          <li key={index}>
            <b>{name}</b> <span class="quiet">{version}</span>
            {counters && (
              <small>
                {compact(counters.in)} in · {compact(counters.out)} out · {compact(counters.filtered)} filtered ·{' '}
                <span class={counters.failed > 0 ? 'bad' : undefined}>{compact(counters.failed)} failed</span>
                {counters.nanoseconds !== null && ` · ${nanoseconds(counters.nanoseconds)} a record`}
                {accounting && accounting.revision > 1 && ` · since revision ${accounting.revision}`}
              </small>
            )}
            <details>
              <summary>config</summary>
              <pre tabIndex={0}>{writeJson(config, 2)}</pre>
            </details>
          </li>
        )
      })}
      <End side="sink" endpoint={definition.sink} />
    </ol>
  )
}

function Latest({ id }: { id: string }) {
  const { route } = useLocation()
  const [found, setFound] = useState<PreviewPipelineResponse>()
  const { run, isBusy, failure } = useAction()
  const at = (partition: unknown, offset: unknown): string => `${HOME.pathname}pipelines/${id}/records/${partition}/${offset}`
  return (
    <section aria-labelledby="records">
      <h2 id="records">Records</h2>
      <form
        class="line"
        onSubmit={(event) => {
          event.preventDefault()
          const form = new FormData(event.currentTarget)
          route(at(form.get('partition'), form.get('offset')))
        }}
      >
        <label>
          Partition <input name="partition" type="number" min="0" required defaultValue="0" />
        </label>
        <label>
          Offset <input name="offset" type="number" min="0" required />
        </label>
        <button>Explain</button>
        <button
          type="button"
          disabled={isBusy}
          onClick={() =>
            void run(async () => setFound(await post<PreviewPipelineResponse>(`/pipelines/${id}/preview`, { from: 'latest', limit: 20 })))
          }
        >
          {found ? 'Newest again' : 'Show the newest'}
        </button>
      </form>
      <Refused failure={failure} />
      {found && found.records.length === 0 && <p class="quiet">The source has no records yet.</p>}
      {found && found.records.length > 0 && (
        <Table label="Newest records" columns={['Record', 'Becomes', 'Value']}>
          {found.records.toReversed().map(({ partition, offset, outcome, input }) => (
            <tr key={`${partition}:${offset}`}>
              <th scope="row">
                <a href={at(partition, offset)}>
                  {partition}:{offset}
                </a>
              </th>
              <td>
                <Badge text={outcome} />
              </td>
              <td class="value">{glimpse(input.value)}</td>
            </tr>
          ))}
        </Table>
      )}
    </section>
  )
}

function Positions({ id }: { id: string }) {
  const offsets = useQuery<GetPipelineOffsetsResponse>(`/pipelines/${id}/offsets`, REFRESH_MS)
  return (
    <section aria-labelledby="positions">
      <h2 id="positions">Positions</h2>
      <p class="quiet">Offsets of the source’s topic. Kafka’s markers of transactions take some of them, so there may be fewer records.</p>
      <Loaded query={offsets}>
        {({ partitions }) => (
          <Table label="Positions" columns={['Partition', '#Position', '#End', '#Lag']}>
            {partitions.map(({ partition, position, end, lag }) => (
              <tr key={partition}>
                <th scope="row">{partition}</th>
                <td class="number" data-of="Position">
                  {count(position)}
                </td>
                <td class="number" data-of="End">
                  {count(end)}
                </td>
                <td class="number" data-of="Lag">
                  {count(lag)}
                </td>
              </tr>
            ))}
          </Table>
        )}
      </Loaded>
    </section>
  )
}

function Revisions({ id }: { id: string }) {
  const ledger = useQuery<GetPipelineLedgerResponse>(`/pipelines/${id}/ledger`, 10_000)
  return (
    <section aria-labelledby="revisions">
      <h2 id="revisions">Revisions</h2>
      <Loaded query={ledger}>
        {({ revisions, entries }) => (
          <ol class="revisions" reversed>
            {revisions.toReversed().map(({ revision, created_at, processors }, index) => (
              <li key={revision} value={revision}>
                <Time at={created_at} /> · {processors.map(({ name, version }) => `${name} ${version}`).join(' → ') || 'no steps'}
                <small>
                  {entries
                    .filter((entry) => entry.revision === revision)
                    .map(({ partition, from_offset }) => `from ${partition}:${from_offset}`)
                    .join(', ') || (index > 0 ? 'handled nothing' : 'has handled nothing yet')}
                </small>
                {may('pipelines:write') && entries.some((entry) => entry.revision === revision) && (
                  <Replay id={id} revision={revision} entries={entries} />
                )}
              </li>
            ))}
          </ol>
        )}
      </Loaded>
    </section>
  )
}

function Logs({ id }: { id: string }) {
  const logs = useQuery<GetPipelineLogsResponse>(`/pipelines/${id}/logs?limit=50`, REFRESH_MS)
  return (
    <section aria-labelledby="logs">
      <h2 id="logs">Log</h2>
      <Loaded query={logs}>
        {({ logs: lines }) =>
          lines.length === 0 ? (
            <p class="quiet">Neither SmartModules nor tasks have said anything in the last day.</p>
          ) : (
            <Table label="Log" isFramed>
              {lines.toReversed().map(({ id: line, at, level, step, module, message, job_id }) => (
                <tr key={line}>
                  <td>
                    <Time at={at} />
                  </td>
                  <td>
                    <Badge text={level} />
                  </td>
                  <td title={job_id}>
                    {job_id !== undefined && 'job · '}
                    {step === null ? 'task' : `${step} ${module ?? ''}`}
                  </td>
                  <td class="value">{message}</td>
                </tr>
              ))}
            </Table>
          )
        }
      </Loaded>
    </section>
  )
}

export function Pipeline({ id }: { id: string }) {
  const { route } = useLocation()
  const definition = useQuery<Definition>(`/pipelines/${id}`)
  const status = useQuery<GetPipelineStatusResponse>(`/pipelines/${id}/status`, REFRESH_MS)
  const accounting = useQuery<GetPipelineAccountingResponse>(`/pipelines/${id}/accounting`, REFRESH_MS)
  const waiting = useQuery<ListDeadLettersResponse>(`/pipelines/${id}/dead-letters?status=pending&page_size=1`, 10_000)
  const revision = status.data?.revision
  useEffect(() => {
    if (definition.data && revision !== undefined && definition.data.revision !== revision) definition.refresh()
  }, [revision, definition.data])
  return (
    <Loaded query={definition}>
      {(pipeline) => (
        <>
          <Title text={pipeline.name}>
            {status.data && <Badge text={status.data.status} />}
            {may('pipelines:write') && (
              <a class="button second" href={`${HOME.pathname}pipelines/${id}/change`}>
                Change
              </a>
            )}
            {status.data && <Actions id={id} status={metBy(status.data)} onDone={status.refresh} />}
            <Remove what="delete" scope="pipelines:write" path={`/pipelines/${id}`} onDone={() => route(HOME.pathname)} />
          </Title>
          {pipeline.description && <p>{pipeline.description}</p>}
          {status.data?.status_reason && (
            <p class="refused" role="alert">
              {status.data.status_reason}
            </p>
          )}
          <Loaded query={status}>
            {({ lag, records_per_second, revision, tasks }) => (
              <dl class="figures">
                <Figure name="records a second">{rate(records_per_second)}</Figure>
                <Figure name="lag" note={`${count(lag)} offsets`}>
                  {compact(lag)}
                </Figure>
                <Figure name="revision">{revision}</Figure>
                <Figure name="tasks">
                  {tasks.filter(({ status, role }) => status === 'running' && role === 'chain').length} of {pipeline.tasks}
                </Figure>
                <Figure name="dead letters waiting">
                  <a href={`${HOME.pathname}pipelines/${id}/dead-letters`} aria-label={`Dead letters: ${waiting.data?.total ?? '…'}`}>
                    {waiting.data ? count(waiting.data.total) : '…'}
                  </a>
                </Figure>
              </dl>
            )}
          </Loaded>
          <Chain definition={pipeline} accounting={accounting.data} />
          <Loaded query={accounting}>{(data) => <Equation accounting={data} />}</Loaded>
          <Hour id={id} />
          <Latest key={id} id={id} />
          <Canary
            key={id}
            pipeline={pipeline}
            hasOne={status.data?.has_canary}
            onChanged={() => {
              status.refresh()
              definition.refresh()
            }}
          />
          <div class="columns">
            <Positions id={id} />
            <Revisions key={pipeline.revision} id={id} />
          </div>
          <Logs id={id} />
        </>
      )}
    </Loaded>
  )
}
