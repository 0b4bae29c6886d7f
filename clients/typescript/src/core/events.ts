/** Server-sent events as an async iterator that comes back where it left off, as long as its reader wants more. */
import { ApiError, ConnectionError } from './errors.ts'
import { parseJson } from './exact-json.ts'
import type { Query, Transport } from './transport.ts'

/** An event by its name, with its data. */
export type ServerEvent<Events> = {
  [Name in keyof Events & string]: { event: Name; data: Events[Name]; id: string | undefined }
}[keyof Events & string]

export type ListenOptions = {
  /** Go on after this event. */
  lastEventId?: string | undefined
  signal?: AbortSignal | undefined
}

const RETRY_MS = 500
const RETRY_MAX_MS = 10_000
/** The service says something every 15 seconds. */
const SILENT_MAX_MS = 60_000

/** Events until the service says that there is nothing to listen to, or `signal` aborts. Throws ApiError for a request that is refused. */
export async function* listen<Events>(
  { open }: Transport,
  path: string,
  query: Query,
  { lastEventId, signal }: ListenOptions = {},
): AsyncGenerator<ServerEvent<Events>, void, void> {
  let last = lastEventId
  let failures = 0
  let isOpened = false
  while (!signal?.aborted) {
    const own = new AbortController()
    const both = signal ? AbortSignal.any([own.signal, signal]) : own.signal
    try {
      const answer = await open(path, query, last === undefined ? {} : { 'last-event-id': last }, both)
      isOpened = true
      for await (const event of eventsIn<Events>(answer, own)) {
        failures = 0
        if (event.id !== undefined) last = event.id
        yield event
      }
    } catch (error) {
      if (signal?.aborted) return
      // What is listened to is gone, or may no longer be seen.
      if (error instanceof ApiError && error.status === 404 && isOpened) return
      const isPassing = error instanceof ConnectionError || (error instanceof ApiError && (error.status === 429 || error.status >= 500))
      if (error instanceof ApiError && !isPassing) throw error
    } finally {
      own.abort()
    }
    if (signal?.aborted) return
    await new Promise((resolve) => setTimeout(resolve, Math.min(RETRY_MS * 2 ** failures++, RETRY_MAX_MS)))
  }
}

/** The events of one answer (WHATWG HTML, 9.2.6); comments are left out. */
async function* eventsIn<Events>(answer: Response, own: AbortController): AsyncGenerator<ServerEvent<Events>, void, void> {
  const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  for (;;) {
    const silence = setTimeout(() => own.abort(), SILENT_MAX_MS)
    const { done, value } = await reader.read().finally(() => clearTimeout(silence))
    if (done) return
    text += value
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const lines = text.slice(0, end).split('\n')
      text = text.slice(end + 2)
      const member = (name: string) => lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2)
      const data = member('data')
      if (data !== undefined) yield { event: member('event') ?? 'message', data: parseJson(data), id: member('id') } as ServerEvent<Events>
    }
  }
}
