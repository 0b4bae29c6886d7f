/** The systems that pipelines can read from and write to, and the secrets that their configs name. */
import { useState } from 'preact/hooks'
import { writeJson } from '../../../../clients/typescript/src/core/exact-json.ts'
import type {
  GetConnectorResponse,
  GetOverviewResponse,
  ListConnectorsResponse,
  ListSecretsResponse,
} from '../../../../clients/typescript/src/generated/types.ts'
import { HOME, patch, post } from '../api.ts'
import { Loaded, Refused, faultAt } from '../parts/failures.tsx'
import { Field } from '../parts/field.tsx'
import { Table } from '../parts/table.tsx'
import { Time } from '../parts/time.tsx'
import { Title } from '../parts/title.tsx'
import { Remove } from '../parts/remove.tsx'
import { useAction, useAll, useQuery } from '../query.ts'
import { may } from '../session.ts'
import { asCurl, needed, operand, quoted } from '../same-as.ts'
import { SameAs } from '../parts/same-as.tsx'

function Config({ id }: { id: string }) {
  const connector = useQuery<GetConnectorResponse>(`/connectors/${id}`)
  return <Loaded query={connector}>{({ config_schema }) => <pre tabIndex={0}>{writeJson(config_schema, 2)}</pre>}</Loaded>
}

function Connector({ id, name, description, kind }: ListConnectorsResponse['connectors'][number]) {
  const [isOpen, setIsOpen] = useState(false)
  return (
    <tr>
      <th scope="row">{name}</th>
      <td>{kind === 'both' ? 'source and sink' : kind}</td>
      <td>
        {description}
        <details onToggle={({ currentTarget }) => setIsOpen(currentTarget.open)}>
          <summary>config</summary>
          {isOpen && <Config id={id} />}
        </details>
      </td>
    </tr>
  )
}

type Secret = ListSecretsResponse['secrets'][number]

function NewSecret({ secrets, onMade }: { secrets: readonly Secret[]; onMade(): void }) {
  const { run, isBusy, failure } = useAction()
  const [name, setName] = useState('')
  const [value, setValue] = useState('')
  const [saved, setSaved] = useState('')
  /** One that is in use can't be deleted, so it gets its next value here. */
  const known = secrets.find((each) => each.name === name)
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        void run(async () => {
          // Copied lines bring their end along.
          const own = value.replace(/\n$/, '')
          await (known ? patch(`/secrets/${known.id}`, { value: own }) : post('/secrets', { name, value: own }))
          setName('')
          setValue('')
          setSaved(`${name} ${known ? 'has its next value' : 'is kept'}.`)
          onMade()
        })
      }}
    >
      <Field name="Name of the secret" hint='A config names it as {"$secret": "name"}.' fault={faultAt(failure, '/name')}>
        <input required value={name} onInput={({ currentTarget }) => setName(currentTarget.value)} />
      </Field>
      <Field name="Value" hint="Stored encrypted, and never shown again.">
        {/* Certificates and keys have several lines. */}
        <textarea
          class="masked"
          rows={2}
          autoComplete="off"
          spellcheck={false}
          required
          value={value}
          onInput={({ currentTarget }) => setValue(currentTarget.value)}
        />
      </Field>
      <Refused failure={failure} beside={['/name']} />
      {saved && <p role="status">{saved}</p>}
      <button disabled={isBusy}>{known ? 'Replace its value' : 'Keep it'}</button>
      <SameAs
        of="curl or dps"
        ways={() => {
          needed(name)
          // The value is a variable, and no argument of curl: others could see that among the processes.
          const bodyFrom = `printf %s "$VALUE" | jq -Rs ${quoted(known ? '{value: .}' : `{name: ${JSON.stringify(name)}, value: .}`)}`
          return {
            curl: asCurl([
              known ? { method: 'PATCH', path: `/secrets/${known.id}`, bodyFrom } : { method: 'POST', path: '/secrets', bodyFrom },
            ]),
            dps: `# in place of one of this name, if there is one\nprintf %s "$VALUE" | dps secret set ${operand(name)}`,
          }
        }}
      />
    </form>
  )
}

function Secrets() {
  const secrets = useAll<ListSecretsResponse>('/secrets')
  const overview = useQuery<GetOverviewResponse>('/overview')
  const names = new Map(overview.data?.pipelines.map(({ id, name }) => [id, name]))
  return (
    <section aria-labelledby="secrets">
      <h2 id="secrets">Secrets</h2>
      <Loaded query={secrets}>
        {({ secrets: found }) =>
          found.length === 0 ? (
            <p class="quiet">There are none.</p>
          ) : (
            <Table label="Secrets">
              {found.map(({ id, name, used_by, updated_at }) => (
                <tr key={id}>
                  <th scope="row">{name}</th>
                  <td>
                    {used_by.length === 0
                      ? 'not in use'
                      : used_by.map((pipeline) => (
                          <a key={pipeline} href={`${HOME.pathname}pipelines/${pipeline}`}>
                            {names.get(pipeline) ?? pipeline}{' '}
                          </a>
                        ))}
                  </td>
                  <td>
                    <Time at={updated_at} />
                  </td>
                  <td>
                    {used_by.length === 0 && (
                      <Remove what="delete" scope="secrets:write" path={`/secrets/${id}`} onDone={secrets.refresh} />
                    )}
                  </td>
                </tr>
              ))}
            </Table>
          )
        }
      </Loaded>
      {may('secrets:write') && (
        <details class="new">
          <summary>New secret, or another value for one</summary>
          <NewSecret secrets={secrets.data?.secrets ?? []} onMade={secrets.refresh} />
        </details>
      )}
    </section>
  )
}

export function Connectors() {
  const connectors = useAll<ListConnectorsResponse>('/connectors')
  return (
    <>
      <Title text="Connectors" />
      <Loaded query={connectors}>
        {({ connectors: found }) => (
          <Table label="Connectors">
            {found.map((each) => (
              <Connector key={each.id} {...each} />
            ))}
          </Table>
        )}
      </Loaded>
      {may('secrets:read') && <Secrets />}
    </>
  )
}
