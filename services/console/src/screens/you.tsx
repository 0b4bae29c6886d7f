/** Who is signed in, the account's limits and what it uses of them, and one's own password. */
import { useState } from 'preact/hooks'
import type { Account } from '../../../../clients/typescript/src/generated/types.ts'
import { post } from '../api.ts'
import { count } from '../format.ts'
import { Loaded, Refused } from '../parts/failures.tsx'
import { Field } from '../parts/field.tsx'
import { Table } from '../parts/table.tsx'
import { Title } from '../parts/title.tsx'
import { useAction, useQuery } from '../query.ts'
import { keepPassword, session } from '../session.ts'
import { ConfirmByProvider } from './sign-in.tsx'

function Password() {
  const [current, setCurrent] = useState('')
  const [password, setPassword] = useState('')
  const [isDone, setIsDone] = useState(false)
  const { run, isBusy, failure } = useAction()
  const hasOne = session.value?.member?.has_password ?? false
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        void run(async () => {
          await post('/session/password', hasOne ? { password, current_password: current } : { password })
          keepPassword()
          setCurrent('')
          setPassword('')
          setIsDone(true)
        })
      }}
    >
      {hasOne && (
        <Field name="Password until now">
          <input
            type="password"
            autoComplete="current-password"
            required
            value={current}
            onInput={({ currentTarget }) => setCurrent(currentTarget.value)}
          />
        </Field>
      )}
      <Field name="New password" hint="At least twelve characters. Other sessions of yours end.">
        <input
          type="password"
          autoComplete="new-password"
          minLength={12}
          required
          value={password}
          onInput={({ currentTarget }) => setPassword(currentTarget.value)}
        />
      </Field>
      <Refused failure={failure} />
      <button disabled={isBusy}>Set the password</button> {isDone && <span role="status">It is set.</span>}
    </form>
  )
}

const GIB = 2 ** 30
const amount = (name: string, value: number): string =>
  name.includes('bytes') && value >= GIB / 10
    ? `${Math.round((value / GIB) * 10) / 10} GiB`
    : `${count(value)}${name.includes('bytes') ? ' bytes' : ''}`

export function You() {
  const account = useQuery<Account>('/account')
  const { member } = session.value!
  return (
    <>
      <Title text={member?.name ?? 'You'} />
      <p>
        {member?.email} · {member?.role}
      </p>
      <section aria-labelledby="password">
        <h2 id="password">Signing in</h2>
        <ConfirmByProvider />
        <Password />
      </section>
      <section aria-labelledby="quotas">
        <h2 id="quotas">What the account may have</h2>
        <Loaded query={account}>
          {({ quotas, requests_per_minute, type }) => (
            <>
              <p class="quiet">
                {type} account, {count(requests_per_minute)} requests a minute for its keys
              </p>
              <Table label="Quotas">
                {Object.entries(quotas).map(([name, { limit, used }]) => (
                  <tr key={name}>
                    <th scope="row">{name.replaceAll('_', ' ')}</th>
                    <td class="number">{used === null ? '' : amount(name, used)}</td>
                    <td class="number">
                      {used === null ? 'at most' : 'of'} {amount(name, limit)}
                    </td>
                    <td>{used !== null && <meter value={used} max={Math.max(1, limit)} high={limit * 0.9} aria-label={name} />}</td>
                  </tr>
                ))}
              </Table>
            </>
          )}
        </Loaded>
      </section>
    </>
  )
}
