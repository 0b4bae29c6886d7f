/** Who is signed in. */
import { signal } from '@preact/signals'
import type { Session } from '../../../clients/typescript/src/generated/types.ts'
import { call, Failure, get, post, remove, whenSignedOut } from './api.ts'

/** Undefined until it is known, null without a session. */
export const session = signal<Session | null | undefined>(undefined)
/** Why signing in by a link failed. */
export const linkFailure = signal<string | undefined>(undefined)

whenSignedOut(() => {
  session.value = null
})

export const may = (scope: Session['scopes'][number]): boolean => session.value?.scopes.includes(scope) ?? false

/** Uses the link in the address up, if there is one, and finds out who is signed in. */
export async function openSession(): Promise<void> {
  const token = /^#link=([\w-]+)$/.exec(location.hash)?.[1]
  if (token !== undefined) {
    // It is used up, and must not stay in the history.
    history.replaceState(null, '', location.pathname + location.search)
    try {
      session.value = await post<Session>('/sessions', { sign_in_token: token })
      return
    } catch (error) {
      linkFailure.value = error instanceof Failure ? error.message : String(error)
    }
  }
  try {
    session.value = await get<Session>('/session')
  } catch (error) {
    if (error instanceof Failure && error.status !== 401) linkFailure.value = error.message
    session.value = null
  }
}

/** A link that is opened in a tab which shows the console already changes nothing but the address. */
export function followLinks(): void {
  addEventListener('hashchange', () => {
    if (location.hash.startsWith('#link=')) void openSession()
  })
}

export async function signIn(email: string, password: string): Promise<void> {
  session.value = await call<Session>('POST', '/sessions', { email, password })
  linkFailure.value = undefined
}

export async function signOut(): Promise<void> {
  await remove('/session')
  session.value = null
}
