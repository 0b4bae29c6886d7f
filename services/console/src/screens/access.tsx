/** Who and what may use the account: API keys for programs, members for people. Secrets are shown once. */
import { useState } from 'preact/hooks'
import type {
  ApiKey,
  CreateKeyResponse,
  CreateMemberLinkResponse,
  CreateMemberResponse,
  ListKeysResponse,
  ListMembersResponse,
  Member,
} from '../../../../clients/typescript/src/generated/types.ts'
import { HOME, patch, post } from '../api.ts'
import { Copyable } from '../parts/copy.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Loaded, Refused, faultAt } from '../parts/failures.tsx'
import { Field } from '../parts/field.tsx'
import { Table } from '../parts/table.tsx'
import { Time } from '../parts/time.tsx'
import { Title } from '../parts/title.tsx'
import { Remove } from '../parts/remove.tsx'
import { useAction, useAll } from '../query.ts'
import { may, session } from '../session.ts'
import { asCurl, needed } from '../same-as.ts'
import { SameAs } from '../parts/same-as.tsx'

type ShownOnce = { title: string; lines: [name: string, text: string][] }

const ROLES: Record<Member['role'], string> = {
  owner: 'may do everything',
  editor: 'may change everything but access',
  viewer: 'may only look',
}

const linkOf = (token: string): string => `${HOME.href}#link=${token}`

function NewKey({ onMade }: { onMade(made: CreateKeyResponse): void }) {
  const { run, isBusy, failure } = useAction()
  const [name, setName] = useState('')
  const [scopes, setScopes] = useState<string[]>([])
  const own = session.value?.scopes ?? []
  const toggle = (scope: string): void => setScopes(scopes.includes(scope) ? scopes.filter((each) => each !== scope) : [...scopes, scope])
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        void run(async () => {
          const made = await post<CreateKeyResponse>('/keys', { name, scopes })
          setName('')
          setScopes([])
          onMade(made)
        })
      }}
    >
      <Field name="Name of the new key" fault={faultAt(failure, '/name')}>
        <input required value={name} onInput={({ currentTarget }) => setName(currentTarget.value)} />
      </Field>
      <fieldset>
        <legend>What it may do</legend>
        <button type="button" class="plain" onClick={() => setScopes(scopes.length === own.length ? [] : [...own])}>
          {scopes.length === own.length ? 'nothing' : 'everything'}
        </button>
        {[...Map.groupBy(own, (scope) => scope.split(':')[0]!)].map(([of, each]) => (
          <div key={of} class="scopes">
            <span>{of}</span>
            {each.map((scope) => (
              <label key={scope}>
                <input type="checkbox" aria-label={scope} checked={scopes.includes(scope)} onChange={() => toggle(scope)} />{' '}
                {scope.slice(of.length + 1)}
              </label>
            ))}
          </div>
        ))}
      </fieldset>
      <Refused failure={failure} beside={['/name']} />
      <button disabled={isBusy || scopes.length === 0}>Make the key</button>{' '}
      {scopes.length === 0 && <span class="quiet">Choose what it may do first.</span>}
      <SameAs
        ways={() => {
          needed(name, scopes)
          return { curl: asCurl([{ method: 'POST', path: '/keys', body: { name, scopes } }]) }
        }}
      />
    </form>
  )
}

function NewMember({ onMade }: { onMade(made: CreateMemberResponse): void }) {
  const { run, isBusy, failure } = useAction()
  const [name, setName] = useState('')
  const [email, setEmail] = useState('')
  const [role, setRole] = useState<Member['role']>('viewer')
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        void run(async () => {
          const made = await post<CreateMemberResponse>('/members', { name, email, role })
          setName('')
          setEmail('')
          onMade(made)
        })
      }}
    >
      <Field name="Name" fault={faultAt(failure, '/name')}>
        <input required value={name} onInput={({ currentTarget }) => setName(currentTarget.value)} />
      </Field>
      <Field name="E-mail address" fault={faultAt(failure, '/email')}>
        <input type="email" required value={email} onInput={({ currentTarget }) => setEmail(currentTarget.value)} />
      </Field>
      <Field name="Role" hint={ROLES[role]}>
        <select value={role} onChange={({ currentTarget }) => setRole(currentTarget.value as Member['role'])}>
          {Object.keys(ROLES).map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
      </Field>
      <Refused failure={failure} beside={['/name', '/email']} />
      <button disabled={isBusy}>Invite</button>
      <SameAs
        ways={() => {
          needed(name, email)
          return { curl: asCurl([{ method: 'POST', path: '/members', body: { name, email, role } }]) }
        }}
      />
    </form>
  )
}

function Role({ member, onDone }: { member: Member; onDone(): void }) {
  const { run, failure } = useAction()
  if (!may('keys:write')) return <>{member.role}</>
  return (
    <>
      <select
        aria-label={`Role of ${member.name}`}
        value={member.role}
        onChange={({ currentTarget: { value } }) => void run(() => patch(`/members/${member.id}`, { role: value }).finally(onDone))}
      >
        {Object.keys(ROLES).map((role) => (
          <option key={role}>{role}</option>
        ))}
      </select>
      <Refused failure={failure} />
    </>
  )
}

/** Keys and members, for those who may see them. */
export const Access = () =>
  may('keys:read') ? (
    <KeysAndMembers />
  ) : (
    <>
      <Title text="Access" />
      <p class="quiet">Your role may not see keys and members: an owner’s may.</p>
    </>
  )

function KeysAndMembers() {
  const keys = useAll<ListKeysResponse>('/keys')
  const members = useAll<ListMembersResponse>('/members')
  const [once, setOnce] = useState<ShownOnce>()
  const { run, failure } = useAction()
  const newLink = async ({ id, name }: Member): Promise<void> => {
    const { sign_in_token } = await post<CreateMemberLinkResponse>(`/members/${id}/link`)
    setOnce({ title: `A link for ${name}`, lines: [['Signs in once, within seven days', linkOf(sign_in_token)]] })
  }
  return (
    <>
      <Title text="Access" />
      <Refused failure={failure} />
      <section aria-labelledby="keys">
        <h2 id="keys">API keys</h2>
        <Loaded query={keys}>
          {({ keys: found }) => (
            <Table label="API keys" columns={['Key', 'May', 'Made', '']}>
              {found.map(({ id, name, scopes, created_at }: ApiKey) => (
                <tr key={id}>
                  <th scope="row">
                    {name}
                    <small>{id}</small>
                  </th>
                  <td class="value">{scopes.length === session.value?.scopes.length ? 'everything' : scopes.join(', ')}</td>
                  <td>
                    <Time at={created_at} />
                  </td>
                  <td>
                    <Remove what="revoke" scope="keys:write" path={`/keys/${id}`} onDone={keys.refresh} />
                  </td>
                </tr>
              ))}
            </Table>
          )}
        </Loaded>
        {may('keys:write') && (
          <details class="new">
            <summary>New key</summary>
            <NewKey
              onMade={({ name, api_key, api_secret }) => {
                setOnce({
                  title: `The key ${name}`,
                  lines: [
                    ['API key', api_key],
                    ['API secret, shown this once', api_secret],
                  ],
                })
                keys.refresh()
              }}
            />
          </details>
        )}
      </section>
      <section aria-labelledby="members">
        <h2 id="members">Members</h2>
        <Loaded query={members}>
          {({ members: found }) => (
            <Table label="Members" columns={['Member', 'Role', 'Signs in with', '']}>
              {found.map((member) => (
                <tr key={member.id}>
                  <th scope="row">
                    {member.name}
                    <small>{member.email}</small>
                  </th>
                  <td title={ROLES[member.role]}>
                    <Role member={member} onDone={members.refresh} />
                  </td>
                  <td>
                    {[...(member.has_password ? ['a password'] : []), ...(member.has_provider ? ['the provider'] : []), 'links'].join(', ')}
                  </td>
                  <td>
                    {may('keys:write') && (
                      <button type="button" class="plain" onClick={() => void run(() => newLink(member))}>
                        new link
                      </button>
                    )}{' '}
                    <Remove what="remove" scope="keys:write" path={`/members/${member.id}`} onDone={members.refresh} />
                  </td>
                </tr>
              ))}
            </Table>
          )}
        </Loaded>
        {may('keys:write') && (
          <details class="new">
            <summary>Invite a member</summary>
            <NewMember
              onMade={({ name, sign_in_token }) => {
                setOnce({ title: `An invitation for ${name}`, lines: [['Signs in once, within seven days', linkOf(sign_in_token)]] })
                members.refresh()
              }}
            />
          </details>
        )}
      </section>
      {once && (
        <Dialog title={once.title} onClose={() => setOnce(undefined)}>
          <p>Keep it now: it is not shown again.</p>
          {once.lines.map(([name, text]) => (
            <p key={name}>
              {name}
              <br />
              <Copyable text={text} />
            </p>
          ))}
        </Dialog>
      )}
    </>
  )
}
