/** Server-sent events as an async iterator that comes back where it left off, as long as its reader wants more. */
import { ApiError, ConnectionError } from './errors.ts'
import { pause } from './pause.ts'
import { backoff, type Query, type Transport } from './transport.ts'

/** An event by its name, with its data. */
export type ServerEvent<Events> = {
  [Name in keyof Events & string]: { event: Name; data: Events[Name]; id: string | undefined }
}[keyof Events & string]

export type ListenOptions = {
  /** Go on after this event. */
  lastEventId?: string | undefined
  signal?: AbortSignal | undefined
  /** Called whenever the connection was lost, before the next attempt. */
  onInterrupted?: (error: unknown) => void
}

/** The service says something every 15 seconds. */
const SILENT_MAX_MS = 60_000

const isPassing = (error: unknown): boolean =>
  error instanceof ConnectionError || (error instanceof ApiError && (error.status === 429 || error.status >= 500))
/** Another server answers in place of the service, as one may while the service is deployed. */
const isOfAnother = (error: unknown): boolean => error instanceof ApiError && error.status < 300

/**
 * Events until the service says that there is nothing to listen to any more, or a signal aborts. Throws ApiError for a request that is
 * refused, and where the service can't be reached from the start.
 */
export async function* listen<Events>(
  transport: Transport,
  path: string,
  query: Query,
  { lastEventId, signal: own, onInterrupted }: ListenOptions = {},
): AsyncGenerator<ServerEvent<Events>, void, void> {
  const stop = new AbortController()
  const signal = AbortSignal.any([stop.signal, ...[own, transport.signal].filter((each) => each !== undefined)])
  let last = lastEventId
  let failures = 0
  let isOpened = false
  try {
    while (!signal.aborted) {
      let lost: unknown
      try {
        for await (const event of connect<Events>(transport, path, query, last, signal, () => (isOpened = true))) {
          failures = 0
          if (event.id !== undefined) last = event.id
          yield event
        }
      } catch (error) {
        if (signal.aborted) return
        // The resource that the client listens to is gone.
        if (isOpened && error instanceof ApiError && error.status === 404) return
        if (isOpened ? !isPassing(error) && !isOfAnother(error) : !isPassing(error) || failures >= transport.retriesMax) throw error
        lost = error
      }
      if (signal.aborted) return
      onInterrupted?.(lost)
      const asked = lost instanceof ApiError ? lost.retryAfterMs : undefined
      await pause(asked ?? backoff(failures++), signal).catch(() => {})
    }
  } finally {
    stop.abort()
  }
}

/** The events of one connection. Throws ConnectionError when it breaks or falls silent. */
async function* connect<Events>(
  { open, parse }: Transport,
  path: string,
  query: Query,
  last: string | undefined,
  signal: AbortSignal,
  onOpened: () => void,
): AsyncGenerator<ServerEvent<Events>, void, void> {
  const silent = new AbortController()
  const either = AbortSignal.any([silent.signal, signal])
  /** Waits for the work, and ends the connection where it takes too long. */
  const heard = async <T>(work: Promise<T>): Promise<T> => {
    const timer = setTimeout(() => silent.abort(), SILENT_MAX_MS)
    try {
      return await work
    } catch (error) {
      if (signal.aborted || error instanceof ApiError || error instanceof ConnectionError) throw error
      throw new ConnectionError(silent.signal.aborted ? 'the service fell silent' : 'the connection was lost', error)
    } finally {
      clearTimeout(timer)
    }
  }
  try {
    const answer = await heard(open(path, query, last === undefined ? {} : { 'last-event-id': last }, either))
    onOpened()
    const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader()
    const parser = createParser()
    for (;;) {
      const { done, value } = await heard(reader.read())
      if (done) return
      for (const { event, data, id } of parser(value)) yield { event, data: parse(data), id } as ServerEvent<Events>
    }
  } finally {
    silent.abort()
  }
}

type Parsed = { event: string; data: string; id: string | undefined }

/** Takes text as it comes, and returns the events that it completes (WHATWG HTML, 9.2.6). */
export function createParser(): (text: string) => Parsed[] {
  let rest = ''
  let event = ''
  let data: string[] = []
  let id: string | undefined
  return (text) => {
    const found: Parsed[] = []
    rest += text
    // A carriage return at the very end may be the first half of a line's end.
    const end = rest.endsWith('\r') ? rest.length - 1 : rest.length
    const lines = rest.slice(0, end).split(/\r\n|\n|\r/)
    rest = (lines.pop() ?? '') + rest.slice(end)
    for (const line of lines) {
      if (line === '') {
        if (data.length > 0) found.push({ event: event === '' ? 'message' : event, data: data.join('\n'), id })
        ;[event, data] = ['', []]
        continue
      }
      const colon = line.indexOf(':')
      const field = colon < 0 ? line : line.slice(0, colon)
      const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '')
      if (field === 'event') event = value
      else if (field === 'data') data.push(value)
      else if (field === 'id') id = value
    }
    return found
  }
}
