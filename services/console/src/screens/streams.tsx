/** All streams of the account, and a new one. */
import { useLocation } from 'preact-iso'
import { useState } from 'preact/hooks'
import type { GetLineageResponse, ListStreamsResponse } from '../../../../clients/typescript/src/generated/types.ts'
import { jsonAt } from '../typed-text.ts'
import { HOME, post, withQuery } from '../api.ts'
import { Paged } from '../parts/paged.tsx'
import { Badge } from '../parts/badge.tsx'
import { Loaded, Refused, faultAt } from '../parts/failures.tsx'
import { Field } from '../parts/field.tsx'
import { Table } from '../parts/table.tsx'
import { Time } from '../parts/time.tsx'
import { Title } from '../parts/title.tsx'
import { SameAs } from '../parts/same-as.tsx'
import { useAction, useAll, useQuery } from '../query.ts'
import { asCurl, asYaml, needed, operand } from '../same-as.ts'
import { may } from '../session.ts'
import { useUnsaved } from '../unsaved.ts'

const FIELDS = '{"id": "string", "amount": "number?"}'

/** A stream whose values are JSON with these fields. */
function NewStream() {
  const { route } = useLocation()
  const { run, isBusy, failure } = useAction()
  const [name, setName] = useState('')
  const [schema, setSchema] = useState(FIELDS)
  const [key, setKey] = useState('')
  useUnsaved(name !== '' || schema !== FIELDS || key !== '')
  const body = () => ({ name, schema: jsonAt('/schema', schema), ...(key === '' ? {} : { key }) })
  return (
    <details class="new">
      <summary>New stream</summary>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          void run(async () => route(`${HOME.pathname}streams/${(await post<{ id: string }>('/streams', body())).id}`))
        }}
      >
        <Field name="Name" fault={faultAt(failure, '/name')}>
          <input required value={name} onInput={({ currentTarget }) => setName(currentTarget.value)} />
        </Field>
        <Field
          name="Fields"
          hint="JSON: each field’s type (string, integer, number, boolean, datetime, date, uuid, decimal, bytes, object, any, array<string>); a ? behind it marks what may be missing."
          fault={faultAt(failure, '/schema')}
        >
          <textarea rows={3} required spellcheck={false} value={schema} onInput={({ currentTarget }) => setSchema(currentTarget.value)} />
        </Field>
        <Field name="Key" hint="The field by which records keep their order; none spreads them." fault={faultAt(failure, '/key')}>
          <input value={key} onInput={({ currentTarget }) => setKey(currentTarget.value)} />
        </Field>
        <Refused failure={failure} beside={['/name', '/schema', '/key']} />
        <button disabled={isBusy}>Make the stream</button>
        <SameAs
          of="curl, dps or YAML"
          ways={() => {
            needed(name)
            const { name: own, ...stream } = body()
            const file = `${own}.yaml`
            return {
              curl: asCurl([{ method: 'POST', path: '/streams', body: body() }]),
              dps: `# what YAML shows, as ${file}\ndps apply ${operand(file)}`,
              YAML: asYaml(own, { streams: { [own]: stream } }),
            }
          }}
        />
      </form>
    </details>
  )
}

type Item = ListStreamsResponse['streams'][number]

/** A stream as a row, with how many pipelines write to it and read from it. */
function useRows() {
  const pipelines = useQuery<GetLineageResponse>('/lineage').data?.pipelines
  const used = (id: string, end: 'from' | 'to', verb: string): string[] => {
    const users = pipelines?.filter((each) => each[end] === id).length ?? 0
    return users === 0 ? [] : [`${users} ${verb}`]
  }
  return ({ id, name, description, status, updated_at }: Item) => (
    <tr key={id}>
      <th scope="row">
        <a href={`${HOME.pathname}streams/${id}`}>{name}</a>
        {description && <small>{description}</small>}
      </th>
      <td>
        <Badge text={status} />
      </td>
      <td>{[...used(id, 'to', 'writing'), ...used(id, 'from', 'reading')].join(', ')}</td>
      <td>
        <Time at={updated_at} />
      </td>
    </tr>
  )
}

const COLUMNS = ['Stream', 'Status', 'Pipelines', 'Changed']
/** As people count: 2 comes before 10. */
const byName = new Intl.Collator('en', { numeric: true })

/** Those with this in their name, from all there are: the API looks for whole names. */
function Found({ wanted }: { wanted: string }) {
  const all = useAll<ListStreamsResponse>('/streams')
  const row = useRows()
  return (
    <Loaded query={all}>
      {({ streams }) => {
        const found = streams.filter(({ name }) => name.toLowerCase().includes(wanted.toLowerCase()))
        if (found.length === 0) return <p class="quiet">No stream has “{wanted}” in its name.</p>
        return (
          <Table label="Streams" columns={COLUMNS}>
            {found.toSorted((a, b) => byName.compare(a.name, b.name)).map(row)}
          </Table>
        )
      }}
    </Loaded>
  )
}

export function Streams() {
  const { query, path, route } = useLocation()
  return (
    <>
      <Title text="Streams" />
      {may('streams:write') && <NewStream />}
      <input
        type="search"
        placeholder="Name"
        aria-label="Filter by name"
        value={query.q ?? ''}
        onInput={({ currentTarget }) => route(withQuery(path, { q: currentTarget.value }), true)}
      />
      {query.q ? <Found wanted={query.q} /> : <All />}
    </>
  )
}

function All() {
  const row = useRows()
  return (
    <Paged<ListStreamsResponse, Item>
      label="Streams"
      path={(page) => withQuery('/streams', { page, page_size: 50, sort: 'name' })}
      items={({ streams }) => streams}
      columns={COLUMNS}
      none="There are no streams yet."
      row={row}
    />
  )
}
