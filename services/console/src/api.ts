/** Requests to the public API, with the session's cookie. Numbers keep all their digits. */
import { parseAsWritten, writeJson } from '../../../clients/typescript/src/core/exact-json.ts'

/** Where the console is, whatever a proxy has put in front of it: pages move below it, so it is fixed once. */
export const HOME = new URL('.', document.baseURI)
document.querySelector('base')?.setAttribute('href', HOME.href)

const API = new URL('../v1/', HOME)

export type Detail = { path: string; message: string }

/** A refusal in the API's envelope, or a request that got no answer (`status` 0). */
export class Failure extends Error {
  readonly status: number
  readonly code: string
  readonly details: Detail[]
  constructor(status: number, code: string, message: string, details: Detail[] = []) {
    super(message)
    this.status = status
    this.code = code
    this.details = details
  }
}

type CallOptions = { signal?: AbortSignal; ifMatch?: string; /** Told the answer's ETag. */ onTag?(tag: string | undefined): void }

const onSignedOut: (() => void)[] = []
/** Called when the API says that there is no session. */
export const whenSignedOut = (listener: () => void): number => onSignedOut.push(listener)

export const urlOf = (path: string): URL => new URL(path.replace(/^\//, ''), API)

async function send(method: string, path: string, body: unknown, { signal, ifMatch }: CallOptions): Promise<Response> {
  const headers: Record<string, string> = { 'X-Requested-By': 'console' }
  if (ifMatch !== undefined) headers['If-Match'] = ifMatch
  if (body !== undefined) headers['Content-Type'] = 'application/json'
  // Answers that hold a secret are kept only where the operator has enabled secrets, so these are not sent again.
  if (method === 'POST' && !/^\/(?:keys|members|session)/.test(path)) headers['Idempotency-Key'] = crypto.randomUUID()
  try {
    return await fetch(urlOf(path), { method, headers, body: body === undefined ? null : writeJson(body), signal: signal ?? null })
  } catch (error) {
    if (signal?.aborted) throw error
    throw new Failure(0, 'unreachable', 'the service can’t be reached')
  }
}

/** What changes nothing may be asked again. */
const LOOKS = /\/(?:check|compile|plan|preview|test)$/
const TRIES = 3
const WAIT_MAX_S = 10
const isBusy = (status: number): boolean => status === 429 || status === 503
/** 503 says of a part that is away which one it is. */
const BUSY = /too many|a process for the request|CPU time/

/** Asks a busy service again, when it says: where nothing was changed, or the tag of a change keeps it from being made twice. */
async function sendPatiently(method: string, path: string, body: unknown, options: CallOptions): Promise<Response> {
  for (let tries = LOOKS.test(path) || options.ifMatch ? TRIES : 1; ; tries--) {
    const reply = await send(method, path, body, options)
    const seconds = Number(reply.headers.get('Retry-After'))
    if (tries === 1 || !isBusy(reply.status) || !(seconds > 0 && seconds <= WAIT_MAX_S)) return reply
    await new Promise((resolve) => setTimeout(resolve, seconds * 1000))
  }
}

/** The answer's body. Throws Failure. */
export async function call<T>(method: string, path: string, body?: unknown, options: CallOptions = {}): Promise<T> {
  const answer = await sendPatiently(method, path, body, options)
  const text = await answer.text()
  let parsed: unknown
  try {
    parsed = text === '' ? undefined : parseAsWritten(text)
  } catch {
    throw new Failure(0, 'unreachable', `the service answered ${answer.status} without JSON`)
  }
  if (answer.ok) {
    options.onTag?.(answer.headers.get('ETag') ?? undefined)
    return parsed as T
  }
  const { error } = parsed as { error?: { code?: string; message?: string; details?: Detail[] } }
  if (answer.status === 401 && path !== '/sessions') {
    for (const listener of onSignedOut) listener()
    throw new Failure(401, 'unauthorized', 'Your session has ended.')
  }
  const message = error?.message ?? `the service answered ${answer.status}`
  const busy = method !== 'GET' && isBusy(answer.status) && BUSY.test(message) ? 'The service is busy: ' : ''
  throw new Failure(answer.status, error?.code ?? 'unknown', busy + message, error?.details)
}

export const get = <T>(path: string, signal?: AbortSignal): Promise<T> => call<T>('GET', path, undefined, signal ? { signal } : {})
/** The resource, and the tag that it has; empty where the answer has none. */
export async function getTagged<T>(path: string): Promise<[resource: T, tag: string]> {
  let tag = ''
  const resource = await call<T>('GET', path, undefined, { onTag: (found) => (tag = found ?? '') })
  return [resource, tag]
}
export const post = <T>(path: string, body?: unknown): Promise<T> => call<T>('POST', path, body)
/** Changes a resource as long as it is what the tag says. */
export const patch = <T>(path: string, body: unknown, ifMatch?: string): Promise<T> =>
  call<T>('PATCH', path, body, ifMatch === undefined ? {} : { ifMatch })
export const remove = (path: string): Promise<void> => call<void>('DELETE', path)

/** A path with query parameters; those without a value are left out. */
export function withQuery(path: string, query: Record<string, string | number | undefined>): string {
  const given = Object.entries(query).flatMap(([name, value]) => (value === undefined || value === '' ? [] : [[name, String(value)]]))
  return given.length === 0 ? path : `${path}${path.includes('?') ? '&' : '?'}${new URLSearchParams(given).toString()}`
}
