/** What happened to one record: as it came, what each step changed, and where it ended. */
import { writeJson } from '../../../../clients/typescript/src/core/exact-json.ts'
import type { ExplainRecordResponse, TraceRecord, TraceStep } from '../../../../clients/typescript/src/generated/types.ts'
import { HOME } from '../api.ts'
import { nanoseconds } from '../format.ts'
import { Difference } from '../parts/difference.tsx'
import { Badge, Loaded, Time, Title } from '../parts/parts.tsx'
import { useQuery } from '../query.ts'
import { shownValue } from '../records.ts'

export function Shown({ record }: { record: TraceRecord }) {
  return (
    <>
      <p class="quiet">
        {record.key === null ? 'no key' : <>key {record.key.text ?? record.key.base64}</>} · <Time at={record.timestamp} />
        {record.headers.length > 0 && ` · ${record.headers.length} headers`}
      </p>
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
          {step.reason} · {nanoseconds(step.nanoseconds)}
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

export function RecordScreen({ id, partition, offset }: { id: string; partition: string; offset: string }) {
  const record = useQuery<ExplainRecordResponse>(`/pipelines/${id}/explain?partition=${partition}&offset=${offset}`)
  const at = (to: number): string => `${HOME.pathname}pipelines/${id}/records/${partition}/${to}`
  return (
    <>
      <Title text={`Record ${partition}:${offset}`}>
        <nav class="actions" aria-label="Neighbours">
          {Number(offset) > 0 && <a href={at(Number(offset) - 1)}>← {Number(offset) - 1}</a>}
          <a href={at(Number(offset) + 1)}>{Number(offset) + 1} →</a>
          <a href={`${HOME.pathname}pipelines/${id}`}>pipeline</a>
        </nav>
      </Title>
      <Loaded query={record}>
        {(trace) => (
          <>
            <p>
              <Badge text={trace.outcome} /> {trace.reason} ·{' '}
              {trace.handled
                ? `handled by revision ${trace.revision}`
                : `not handled yet; this is what revision ${trace.revision} would do`}
            </p>
            {trace.dead_letter_ids.length > 0 && (
              <p>
                It has a dead letter: <a href={`${HOME.pathname}pipelines/${id}/dead-letters`}>{trace.dead_letter_ids.join(', ')}</a>
                {trace.redriven && ', which has been redriven since'}
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
              <li class={trace.outcome}>
                <h2>
                  {trace.outputs.length > 0 ? 'As it was delivered' : 'Nothing was delivered'} <Badge text={trace.outcome} />
                </h2>
                {trace.outputs.map((out, index) => (
                  <Shown key={index} record={out} />
                ))}
              </li>
            </ol>
          </>
        )}
      </Loaded>
    </>
  )
}
