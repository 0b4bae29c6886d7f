/** Signing in: by a link, once it is clicked, or with an address and password. */
import { useState } from 'preact/hooks'
import { Field, Refused, Title } from '../parts/parts.tsx'
import { useAction, useQuery } from '../query.ts'
import { link, refusal, session, signIn, signInByLink } from '../session.ts'

const REFUSALS: Record<string, string> = {
  unverified: 'The provider has not checked your address, so it can’t be taken for yours.',
  unknown: 'No member has your address. An owner of the account can invite you.',
  suspended: 'Your account is suspended, or you are no longer its member.',
  unreachable: 'The provider can’t be reached now.',
}

type Methods = { provider: { name: string } | null }

/** With an OpenID Connect provider, where there is one. A link, because the browser itself goes there. */
function WithProvider() {
  const { data } = useQuery<Methods>('/sign-in-methods')
  if (!data?.provider) return null
  return (
    <section class="figure">
      {refusal.value !== undefined && (
        <p class="refused" role="alert">
          {REFUSALS[refusal.value] ?? 'Signing in with the provider failed. Try again.'}
        </p>
      )}
      <a class="button" href="../sign-in">
        Sign in with {data.provider.name}
      </a>
    </section>
  )
}

function ByLink() {
  const { run, isBusy, failure } = useAction()
  const { member } = session.value ?? {}
  return (
    <section class="figure">
      <p>
        {member
          ? `You are signed in as ${member.name}. The link you followed signs you in as its member instead.`
          : 'You followed a link that signs you in.'}
      </p>
      <button type="button" disabled={isBusy} onClick={() => void run(signInByLink)}>
        Sign in by the link
      </button>{' '}
      <button type="button" class="plain" onClick={() => (link.value = undefined)}>
        don’t
      </button>
      <Refused failure={failure} />
    </section>
  )
}

export function SignInForm() {
  const [email, setEmail] = useState(session.value?.member?.email ?? '')
  const [password, setPassword] = useState('')
  const { run, isBusy, failure } = useAction()
  return (
    <>
      {link.value !== undefined && <ByLink />}
      <WithProvider />
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
    </>
  )
}

export function SignIn() {
  return (
    <main class="sign-in">
      <Title text="Sign in" />
      <SignInForm />
    </main>
  )
}
