/** A stream's schema: its fields, the ones it had before, and what another one would break before it is changed. */
import { useState } from 'preact/hooks'
import type { CheckStreamSchemaResponse, ListStreamSchemasResponse, Stream } from '../../../../clients/typescript/src/generated/types.ts'
import { HOME, patch, post } from '../api.ts'
import { useAction, useQuery } from '../query.ts'
import { asCurl } from '../same-as.ts'
import { may } from '../session.ts'
import { inWords, jsonAt } from '../typed-text.ts'
import { useUnsaved } from '../unsaved.ts'
import { Details, Refused, faultAt } from './failures.tsx'
import { Field } from './field.tsx'
import { SameAs } from './same-as.tsx'

function Fields({ schema }: { schema: Record<string, string> }) {
  return (
    <table>
      <tbody>
        {Object.entries(schema).map(([field, type]) => (
          <tr key={field}>
            <th scope="row">{field}</th>
            <td>{type}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

/** What a change would break. */
function Broken({ found }: { found: CheckStreamSchemaResponse }) {
  return (
    <div role="status">
      <p class={found.compatible ? undefined : 'refused'}>{found.compatible ? 'The change is allowed.' : 'The change is not allowed:'}</p>
      <ul>
        <Details details={found.details} />
        {found.pipelines.map(({ id, name, reads, mentions }) => (
          <li key={id}>
            <a href={`${HOME.pathname}pipelines/${id}`}>{name}</a> {reads ? 'reads' : 'writes'} the stream, and its config names{' '}
            {[...new Set(mentions.flatMap(({ fields }) => fields))].join(', ')} (
            {mentions.map(({ path }) => inWords(path.replace(/\/config$/, ''))).join(', ')})
          </li>
        ))}
      </ul>
      {found.compatible && found.pipelines.length === 0 && <p class="quiet">No pipeline’s config names a field that changes.</p>}
    </div>
  )
}

function Change({ stream, onChanged }: { stream: Stream; onChanged(): void }) {
  const first = JSON.stringify(stream.schema, null, 2)
  const [text, setText] = useState(first)
  useUnsaved(text !== first)
  const [found, setFound] = useState<CheckStreamSchemaResponse>()
  const { run, isBusy, failure } = useAction()
  const body = () => ({ schema: jsonAt('/schema', text) })
  return (
    <details>
      <summary>Change the schema</summary>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          void run(async () => {
            await patch(`/streams/${stream.id}`, body())
            onChanged()
          })
        }}
      >
        <Field
          name="Fields of the next schema"
          hint={`Names and types, as JSON. They must be ${stream.compatibility} compatible.`}
          fault={faultAt(failure, '/schema')}
        >
          <textarea
            rows={6}
            required
            spellcheck={false}
            value={text}
            onInput={({ currentTarget }) => {
              setText(currentTarget.value)
              setFound(undefined)
            }}
          />
        </Field>
        <Refused failure={failure} beside={['/schema']} />
        {found && <Broken found={found} />}
        <div class="actions">
          <button
            type="button"
            disabled={isBusy}
            onClick={() => void run(async () => setFound(await post(`/streams/${stream.id}/schemas/check`, body())))}
          >
            What would break
          </button>
          <button disabled={isBusy || found?.compatible !== true}>Change</button>
          {!found && <span class="quiet">See what would break first.</span>}
        </div>
        <SameAs ways={() => ({ curl: asCurl([{ method: 'PATCH', path: `/streams/${stream.id}`, body: body() }]) })} />
      </form>
    </details>
  )
}

export function StreamSchema({ stream, onChanged }: { stream: Stream; onChanged(): void }) {
  const { data } = useQuery<ListStreamSchemasResponse>(`/streams/${stream.id}/schemas`)
  const before = data?.schemas.filter(({ is_current }) => !is_current) ?? []
  return (
    <section aria-labelledby="schema">
      <h2 id="schema">Schema</h2>
      <Fields schema={stream.schema} />
      {before.length > 0 && (
        <details>
          <summary>
            {before.length} earlier {before.length === 1 ? 'schema' : 'schemas'}
          </summary>
          {before.map(({ schema_id, schema }) => (
            <div key={schema_id}>
              <h3>Schema {schema_id}</h3>
              <Fields schema={schema} />
            </div>
          ))}
        </details>
      )}
      {/* One from the registry changes by the id of its next version. */}
      {may('streams:write') && !stream.is_adopted && <Change stream={stream} onChanged={onChanged} />}
    </section>
  )
}
