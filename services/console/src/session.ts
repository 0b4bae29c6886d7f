/** Who is signed in. */
import { signal } from '@preact/signals'
import type { Session } from '../../../clients/typescript/src/generated/types.ts'
import { call, Failure, get, HOME, post, remove, whenSignedOut } from './api.ts'
import { mayLeave, reloadUnasked } from './unsaved.ts'

/** Undefined until it is known, null without a session. It stays when the session ends, so that the page keeps what was typed. */
export const session = signal<Session | null | undefined>(undefined)
/** The session has ended by itself; the page waits for the next one. */
export const hasEnded = signal(false)
/** Whether the dialog for signing in again is open: it may be closed, to copy what was typed. */
export const isAsking = signal(false)
const LINK = 'dps-link'
/**
 * The link in the address, not used before a click: another site may have led here to sign a person in as someone else. This tab keeps it
 * until then, also over a reload.
 */
export const link = signal<string | undefined>(sessionStorage.getItem(LINK) ?? undefined)
link.subscribe((token) => (token === undefined ? sessionStorage.removeItem(LINK) : sessionStorage.setItem(LINK, token)))

/** Tells the other tabs who is signed in from now on. */
const tabs = new BroadcastChannel('dps-session')
tabs.addEventListener('message', ({ data: memberId }: MessageEvent<string | undefined>) => {
  if (!session.value) return
  // What this page shows was read by another member, or by one who has signed out.
  if (session.value.member?.id !== memberId) location.reload()
  else hasEnded.value = false
})

const RETRY_MS = 2000

whenSignedOut(() => {
  // Each request says so again.
  if (!session.value || hasEnded.value) return
  hasEnded.value = true
  isAsking.value = true
})

export const may = (scope: Session['scopes'][number]): boolean => session.value?.scopes.includes(scope) ?? false

function begin(next: Session): void {
  sessionStorage.removeItem(LINK)
  tabs.postMessage(next.member?.id)
  // Another member's page must not show what this one has read: until it is loaded anew it stays as it is.
  if (session.value && session.value.member?.id !== next.member?.id) return location.reload()
  session.value = next
  hasEnded.value = false
  link.value = undefined
}

/** Why the provider's sign-in led back here without one. */
export const refusal = signal<string | undefined>(undefined)

/** An account that a person may sign in to. */
export type Choice = { id: string; name: string }
/** The accounts to choose from after signing in with the provider. */
export const choices = signal<Choice[]>([])

const PLACE = 'dps-place'
/** Before the browser leaves for the provider: it comes back to the first page. */
export const keepPlace = (): void => sessionStorage.setItem(PLACE, location.href)

function takePlace(): void {
  const place = sessionStorage.getItem(PLACE)
  sessionStorage.removeItem(PLACE)
  if (location.pathname === HOME.pathname && place?.startsWith(HOME.href)) history.replaceState(null, '', place)
}

function takeRefusal(): void {
  const [, what, text] = /^#(refused|choose)=(.+)$/.exec(location.hash) ?? []
  if (text === undefined) return
  history.replaceState(null, '', location.pathname + location.search)
  if (what === 'refused') refusal.value = text
  else choices.value = [...new URLSearchParams(text)].map(([id, name]) => ({ id, name }))
}

/** Which accounts a password is right for, where it is so for several. */
export const choicesIn = (failure: Failure | undefined): Choice[] =>
  (failure?.details ?? []).flatMap(({ path, message }) => {
    const [, id, name] = /^([\w-]+) is (.*)$/s.exec(path === '/account_id' ? message : '') ?? []
    return id !== undefined && name !== undefined ? [{ id, name }] : []
  })

function takeLink(): void {
  const token = /^#link=([\w-]+)$/.exec(location.hash)?.[1]
  if (token === undefined) return
  // It must not stay in the history.
  history.replaceState(null, '', location.pathname + location.search)
  link.value = token
}

/** Finds out who is signed in; while the service does not answer it asks again. */
export async function openSession(): Promise<void> {
  takeRefusal()
  takeLink()
  takePlace()
  // In a tab that shows the console already, a link changes nothing but the address.
  addEventListener('hashchange', takeLink)
  for (;;) {
    try {
      session.value = await get<Session>('/session')
      // It may be new: the provider's sign-in ends here.
      tabs.postMessage(session.value.member?.id)
      return
    } catch (error) {
      if (error instanceof Failure && error.status > 0 && error.status < 500) {
        session.value = null
        return
      }
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
    }
  }
}

export async function signInByLink(): Promise<void> {
  try {
    begin(await post<Session>('/sessions', { sign_in_token: link.value }))
  } catch (error) {
    // One that was used, or has expired, is not offered again.
    if (error instanceof Failure && error.status > 0 && error.status < 500) sessionStorage.removeItem(LINK)
    throw error
  }
}
export const signIn = async (email: string, password: string, accountId?: string): Promise<void> =>
  begin(await call<Session>('POST', '/sessions', { email, password, ...(accountId === undefined ? {} : { account_id: accountId }) }))

/** The member has a password from now on. */
export function keepPassword(): void {
  const { value } = session
  if (value?.member) session.value = { ...value, member: { ...value.member, has_password: true } }
}

export async function signOut(): Promise<void> {
  if (!mayLeave()) return
  await remove('/session')
  tabs.postMessage(undefined)
  // What this page has read, and listens to, is gone with it.
  reloadUnasked()
}
