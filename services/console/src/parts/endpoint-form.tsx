/** A pipeline's source or sink as a form: a stream, or a connector with the fields of its config, which can be checked by connecting. */
import { useState } from 'preact/hooks'
import type {
  CheckConnectorResponse,
  GetConnectorResponse,
  ListConnectorsResponse,
  ListStreamsResponse,
  Pipeline,
} from '../../../../clients/typescript/src/generated/types.ts'
import { writeJson } from '../../../../clients/typescript/src/core/exact-json.ts'
import { post, type Detail } from '../api.ts'
import { useAction, useQuery } from '../query.ts'
import { Details, Refused } from './failures.tsx'
import { Field } from './field.tsx'
import type { Schema } from './config-fields.tsx'
import { SchemaForm, within } from './schema-form.tsx'

export type Endpoint = Pipeline['source']
export const STREAM = 'conn_stream'
/** Connectors may be named instead of given by id. */
export const isOfStream = ({ connector_id }: Endpoint): boolean => connector_id === STREAM || connector_id === 'stream'

function Check({
  side,
  endpoint,
  answer,
  setAnswer,
}: {
  side: 'source' | 'sink'
  endpoint: Endpoint
  answer: CheckConnectorResponse | undefined
  setAnswer(next: CheckConnectorResponse | undefined): void
}) {
  const { run, isBusy, failure } = useAction()
  return (
    <div>
      <button
        type="button"
        disabled={isBusy}
        onClick={({ currentTarget }) =>
          void run(async () => {
            setAnswer(undefined)
            // What is not JSON is not part of the config: the browser says so at its field.
            for (const area of currentTarget.closest('fieldset')?.querySelectorAll('textarea') ?? [])
              if (area.validity.customError && !area.reportValidity()) return
            setAnswer(await post<CheckConnectorResponse>(`/connectors/${endpoint.connector_id}/check`, { side, config: endpoint.config }))
          })
        }
      >
        {isBusy ? 'Connecting…' : 'Check by connecting'}
      </button>
      <Refused failure={failure} />
      {answer?.ok && <span role="status"> It answers, within {answer.took_ms} ms.</span>}
      {answer && answer.details.length > 0 && (
        <ul class="refused" role="alert">
          <Details details={answer.details} />
        </ul>
      )}
    </div>
  )
}

function Connected({ side, value, secrets, onChange, faults }: Pick<EndpointProps, 'side' | 'value' | 'secrets' | 'onChange' | 'faults'>) {
  const connector = useQuery<GetConnectorResponse>(`/connectors/${value.connector_id}`)
  const [checked, setChecked] = useState<{ of: Endpoint; answer: CheckConnectorResponse | undefined }>()
  // An answer says nothing about a config that was changed since it was asked for.
  const found = checked?.of === value ? checked.answer : undefined
  const refused = within(faults, 'config')
  // What was refused since is beside its field, and below: it is not said once more.
  const details = found?.details.filter(({ message }) => !refused.some((each) => each.message === message)) ?? []
  const answer = found && { ...found, details }
  const setAnswer = (next: CheckConnectorResponse | undefined): void => setChecked({ of: value, answer: next })
  if (!connector.data) return <Refused failure={connector.failure} />
  const { description, config_schema, checkable_sides, [`${side}_schema` as const]: own } = connector.data
  return (
    <>
      <p class="quiet">{description}</p>
      <SchemaForm
        key={value.connector_id}
        schema={(own ?? config_schema) as Schema}
        value={value.config}
        secrets={secrets}
        faults={[...details, ...refused]}
        onChange={(config) => onChange({ ...value, config })}
      />
      {checkable_sides.includes(side) && <Check side={side} endpoint={value} answer={answer} setAnswer={setAnswer} />}
    </>
  )
}

type EndpointProps = {
  side: 'source' | 'sink'
  value: Endpoint
  onChange(next: Endpoint): void
  streams: ListStreamsResponse['streams']
  connectors: ListConnectorsResponse['connectors']
  secrets: readonly string[]
  /** What was refused, with paths from here on. */
  faults: readonly Detail[]
  /** The pipeline exists: it can't get another system. */
  isFixed: boolean
}

export function EndpointForm({ side, value, onChange, streams, connectors, secrets, faults, isFixed }: EndpointProps) {
  const isStream = isOfStream(value)
  const connector = connectors.find(({ id, name }) => id === value.connector_id || name === value.connector_id)
  const streamId = typeof value.config.stream_id === 'string' ? value.config.stream_id : ''
  return (
    <fieldset>
      <legend>{side === 'source' ? 'Source' : 'Sink'}</legend>
      <Field
        name={side === 'source' ? 'Read from' : 'Write to'}
        hint={isFixed ? `A pipeline keeps its ${side}${isStream || side === 'source' ? '' : ', whose config can change'}.` : undefined}
      >
        <select
          disabled={isFixed}
          value={connector?.id ?? value.connector_id}
          onChange={({ currentTarget }) => onChange({ connector_id: currentTarget.value, config: {} })}
        >
          {connectors
            .filter(({ kind }) => kind === side || kind === 'both')
            .map(({ id, name }) => (
              <option key={id} value={id}>
                {name}
              </option>
            ))}
        </select>
      </Field>
      {isStream ? (
        <Field name="Stream">
          <select
            required
            disabled={isFixed}
            value={streamId}
            onChange={({ currentTarget }) => onChange({ ...value, config: { ...value.config, stream_id: currentTarget.value } })}
          >
            <option value="">—</option>
            {streamId !== '' && !streams.some(({ id }) => id === streamId) && <option value={streamId}>{streamId}</option>}
            {streams.map(({ id, name }) => (
              <option key={id} value={id}>
                {name}
              </option>
            ))}
          </select>
        </Field>
      ) : isFixed && side === 'source' ? (
        <pre tabIndex={0} aria-label="Config">
          {writeJson(value.config, 2)}
        </pre>
      ) : (
        <Connected side={side} value={value} secrets={secrets} faults={faults} onChange={onChange} />
      )}
    </fieldset>
  )
}
