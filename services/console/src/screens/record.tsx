/** What happened to one record: as it came, what each step changed, and where it ended. */
import { writeJson } from '../../../../clients/typescript/src/core/exact-json.ts'
import { useEffect, useState } from 'preact/hooks'
import type {
  ExplainRecordResponse,
  PreviewPipelineResponse,
  Trace,
  TraceRecord,
  TraceStep,
} from '../../../../clients/typescript/src/generated/types.ts'
import { lastRedrive } from '../../../../clients/typescript/src/last-redrive.ts'
import { HOME, post, withQuery } from '../api.ts'
import { nanoseconds } from '../format.ts'
import { Difference } from '../parts/difference.tsx'
import { Badge } from '../parts/badge.tsx'
import { Loaded } from '../parts/failures.tsx'
import { Time } from '../parts/time.tsx'
import { Title } from '../parts/title.tsx'
import { useQuery } from '../query.ts'
import { glimpse, shownValue } from '../records.ts'

export function Shown({ record }: { record: TraceRecord }) {
  return (
    <>
      <p class="quiet">
        {record.key === null ? 'no key' : <>key {record.key.text ?? record.key.base64}</>} · written <Time at={record.timestamp} />
      </p>
      {record.headers.length > 0 && (
        <ul class="quiet">
          {record.headers.map(({ key, base64 }, index) => (
            <li key={index}>
              {key}: {glimpse(base64 === null ? null : { base64, json: null }, 1000)}
            </li>
          ))}
        </ul>
      )}
      <pre class="value" tabIndex={0}>
        {shownValue(record.value)}
      </pre>
    </>
  )
}

function Step({ step }: { step: TraceStep }) {
  return (
    <li class={step.outcome}>
      <h2>
        {step.step}. {step.module} <span class="quiet">{step.version}</span> <Badge text={step.outcome} />
      </h2>
      {step.outcome !== 'not_reached' && (
        <p class="quiet">
          {/* An error's own text comes below. */}
          {!step.error && `${step.reason} · `}
          {nanoseconds(step.nanoseconds)} when it was run for this page
        </p>
      )}
      {step.error && (
        <p class="refused">
          <code>{step.error.code}</code> {step.error.message}
        </p>
      )}
      {step.out.map((out, index) => (
        <div key={index}>
          {step.out.length > 1 && <h3>Record {index + 1}</h3>}
          {step.in[0] ? <Difference before={step.in[0]} after={out} /> : <Shown record={out} />}
        </div>
      ))}
      {step.logs.length > 0 && (
        <pre class="logs" tabIndex={0}>
          {step.logs.join('\n')}
        </pre>
      )}
      {Object.keys(step.config).length > 0 && (
        <details>
          <summary>config</summary>
          <pre tabIndex={0}>{writeJson(step.config, 2)}</pre>
        </details>
      )}
    </li>
  )
}

type Redrive = ExplainRecordResponse['redrives'][number]

/** Where it ended: after a redrive, as what that one's revision makes of it. */
function End({ trace, last }: { trace: Trace | undefined; last: Redrive | undefined }) {
  if (!trace) return null
  const isDelivered = trace.outputs.length > 0
  return (
    <li class={trace.outcome}>
      <h2>
        {last ? `Redriven by revision ${last.revision}` : isDelivered ? 'As it was delivered' : 'Nothing was delivered'}{' '}
        <Badge text={trace.outcome} />
      </h2>
      {last && (
        <p class="quiet">
          redriven <Time at={last.at} />
        </p>
      )}
      {last && !isDelivered && <p class={trace.outcome === 'dead_letter' ? 'refused' : 'quiet'}>{trace.reason}</p>}
      {trace.outputs.map((out, index) => (
        <Shown key={index} record={out} />
      ))}
    </li>
  )
}

/** How many offsets are looked through for the record before: few of those between two records are markers of transactions. */
const LOOKED_BACK = 8

/** Offsets of the partition's records before and behind this one; undefined where there is none. */
function useNeighbours(id: string, partition: number, offset: number): { before?: number; behind?: number } {
  const [found, setFound] = useState<{ before?: number; behind?: number }>({})
  useEffect(() => {
    setFound({})
    let isGone = false
    const look = (from: number, limit: number, take: (offsets: number[]) => object): void => {
      const asked = { processors: [], from: { offsets: { [partition]: from } }, partition, limit }
      void post<PreviewPipelineResponse>(`/pipelines/${id}/preview`, asked).then(
        ({ records }) => isGone || setFound((known) => ({ ...known, ...take(records.map((each) => each.offset)) })),
        () => {},
      )
    }
    look(offset + 1, 1, ([behind]) => (behind === undefined ? {} : { behind }))
    const from = Math.max(0, offset - LOOKED_BACK)
    if (offset > 0)
      look(from, offset - from, (offsets) => {
        const before = offsets.findLast((each) => each < offset)
        return before === undefined ? {} : { before }
      })
    return () => void (isGone = true)
  }, [id, partition, offset])
  return found
}

/** The dead letters that failed as this record did; all of the pipeline's where the sink refused it, or it has been redriven. */
function groupOf(id: string, { steps, redriven }: ExplainRecordResponse): string {
  const failed = redriven ? undefined : steps.find(({ error }) => error)
  const group = failed && [failed.step, failed.module, failed.version, failed.error?.code].join('|')
  return withQuery(`${HOME.pathname}pipelines/${id}/dead-letters`, { group })
}

export function RecordScreen({ id, partition, offset }: { id: string; partition: string; offset: string }) {
  const record = useQuery<ExplainRecordResponse>(`/pipelines/${id}/explain?partition=${partition}&offset=${offset}`)
  const last = record.data && lastRedrive(record.data)
  const by = last?.revision
  const since = useQuery<ExplainRecordResponse>(
    by === undefined ? null : `/pipelines/${id}/explain?partition=${partition}&offset=${offset}&revision=${by}`,
  )
  const { before, behind } = useNeighbours(id, Number(partition), Number(offset))
  const at = (to: number): string => `${HOME.pathname}pipelines/${id}/records/${partition}/${to}`
  return (
    <>
      <Title text={`Record ${partition}:${offset}`}>
        <nav class="actions" aria-label="Neighbours">
          {before !== undefined && <a href={at(before)}>← offset {before}</a>}
          {behind !== undefined && <a href={at(behind)}>offset {behind} →</a>}
          <a class="button second" href={`${HOME.pathname}pipelines/${id}`}>
            Pipeline
          </a>
        </nav>
      </Title>
      <Loaded query={record}>
        {(trace) => (
          <>
            <p>
              <Badge text={trace.redriven ? 'redriven' : trace.outcome} /> {!trace.steps.some(({ error }) => error) && `${trace.reason} · `}
              {by && 'it failed when it was '}
              {trace.handled
                ? `handled by revision ${trace.revision}`
                : `not handled yet; this is what revision ${trace.revision} would do`}
              {by && ', and has been redriven since'}
              {last?.outcome === 'dead_letter' && ', where it failed again'}
            </p>
            {trace.dead_letter_ids.length > 0 && (
              <p>
                {trace.redriven ? 'It had' : 'It has'}{' '}
                <a href={groupOf(id, trace)} title={trace.dead_letter_ids.join(', ')}>
                  a dead letter
                </a>
              </p>
            )}
            <ol class="trace">
              <li>
                <h2>As it came</h2>
                <Shown record={trace.input} />
              </li>
              {trace.steps.map((step) => (
                <Step key={step.step} step={step} />
              ))}
              {by &&
                trace.redrives.slice(0, -1).map(({ job_id, revision: ran, outcome, at: when }) => (
                  <li key={job_id} class={outcome}>
                    <h2>
                      Redriven by revision {ran} <Badge text={outcome} />
                    </h2>
                    <p class="quiet">
                      redriven <Time at={when} />
                    </p>
                  </li>
                ))}
              <End trace={last ? since.data : trace} last={last} />
            </ol>
          </>
        )}
      </Loaded>
    </>
  )
}
