/** Signing in: by a link, once it is clicked, or with an address and password. */
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { Refused } from '../parts/failures.tsx'
import { Field } from '../parts/field.tsx'
import { Title } from '../parts/title.tsx'
import { useAction, useQuery } from '../query.ts'
import { choices, choicesIn, keepPlace, link, refusal, session, signIn, signInByLink } from '../session.ts'

const REFUSALS: Record<string, string> = {
  unverified: 'The provider has not checked your address, so it can’t be taken for yours.',
  unknown:
    'You have not joined an account with this address. Sign in by the link of your invitation, or a password, and then with the provider.',
  suspended: 'Your account is suspended, or you are no longer its member.',
  unreachable: 'The provider can’t be reached now.',
}

/** Browsers go there themselves, so it is an address and no request. */
const PROVIDER = '../sign-in'

const ToProvider = ({ query = '', children }: { query?: string; children: ComponentChildren }) => (
  <a class="button" href={PROVIDER + query} onClick={keepPlace}>
    {children}
  </a>
)

type Methods = { provider: { name: string } | null }
const useProvider = () => useQuery<Methods>('/sign-in-methods').data?.provider ?? undefined

/** With an OpenID Connect provider, where there is one. */
function WithProvider() {
  const provider = useProvider()
  if (!provider) return null
  return (
    <section class="figure">
      {refusal.value !== undefined && (
        <p class="refused" role="alert">
          {REFUSALS[refusal.value] ?? 'Signing in with the provider failed. Try again.'}
        </p>
      )}
      {choices.value.length === 0 ? (
        <ToProvider>Sign in with {provider.name}</ToProvider>
      ) : (
        <p>You are a member of several accounts. Sign in with {provider.name} to:</p>
      )}
      {choices.value.map(({ id, name }) => (
        <ToProvider key={id} query={`?account_id=${encodeURIComponent(id)}`}>
          {name}
        </ToProvider>
      ))}
    </section>
  )
}

/** For a member who is signed in: the provider signs in only members who have once come to it like this. */
export function ConfirmByProvider() {
  const provider = useProvider()
  const { member } = session.value ?? {}
  if (!provider || !member || member.has_provider) return null
  return (
    <p>
      <ToProvider>Sign in with {provider.name} from now on</ToProvider>
    </p>
  )
}

function ByLink() {
  const { run, isBusy, failure } = useAction()
  const provider = useProvider()
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
      {provider && (
        <button
          type="button"
          disabled={isBusy}
          onClick={() => void run(() => signInByLink().then(() => (keepPlace(), location.assign(PROVIDER))))}
        >
          Sign in by the link, and with {provider.name} from now on
        </button>
      )}{' '}
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
  const accounts = choicesIn(failure)
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
        {accounts.length === 0 ? (
          <>
            <Refused failure={failure} />
            <button disabled={isBusy}>Sign in</button>
          </>
        ) : (
          <>
            <p role="alert">You are a member of several accounts. Sign in to:</p>
            {accounts.map(({ id, name }) => (
              <button key={id} type="button" disabled={isBusy} onClick={() => void run(() => signIn(email, password, id))}>
                {name}
              </button>
            ))}
          </>
        )}
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
