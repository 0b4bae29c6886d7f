/** Signing in with an address and password. Links sign in by themselves. */
import { useState } from 'preact/hooks'
import { Field, Refused, Title } from '../parts/parts.tsx'
import { useAction } from '../query.ts'
import { linkFailure, signIn } from '../session.ts'

export function SignIn() {
  const [email, setEmail] = useState('')
  const [password, setPassword] = useState('')
  const { run, isBusy, failure } = useAction()
  return (
    <main class="sign-in">
      <Title text="Sign in" />
      {linkFailure.value && (
        <p class="refused" role="alert">
          {linkFailure.value}
        </p>
      )}
      <form
        onSubmit={(event) => {
          event.preventDefault()
          void run(() => signIn(email, password))
        }}
      >
        <Field name="E-mail address">
          <input
            type="email"
            name="email"
            autoComplete="username"
            required
            value={email}
            onInput={({ currentTarget }) => setEmail(currentTarget.value)}
          />
        </Field>
        <Field name="Password">
          <input
            type="password"
            name="password"
            autoComplete="current-password"
            required
            value={password}
            onInput={({ currentTarget }) => setPassword(currentTarget.value)}
          />
        </Field>
        <Refused failure={failure} />
        <button disabled={isBusy}>Sign in</button>
      </form>
      <p class="quiet">
        No password yet? An owner of the account makes a link for you under <i>Access</i>; an operator with <code>make link</code>.
      </p>
    </main>
  )
}
