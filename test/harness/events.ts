/** Reads server-sent events with `fetch`, as a client does: by name, id and data. */
import { eventually, service, type Answer, type Client } from './client.ts'

export type SentEvent<T = Record<string, unknown>> = { event: string; id: string | undefined; data: T }
export type EventReader<T> = {
  /** All events so far. */
  events: SentEvent<T>[]
  /** Resolves once the service has closed the stream. */
  ended: Promise<void>
  close(): void
}

/** Listens to an operation with `events`. Throws when it answers with something else. */
export async function listen<T = Record<string, unknown>>(client: Client, path: string, lastEventId?: string): Promise<EventReader<T>> {
  const gone = new AbortController()
  const answer = await fetch(`${service().apiUrl}${path}`, {
    headers: { Authorization: `Bearer ${client.token}`, ...(lastEventId === undefined ? {} : { 'Last-Event-ID': lastEventId }) },
    signal: gone.signal,
  })
  const type = answer.headers.get('content-type') ?? ''
  if (answer.status !== 200 || !type.startsWith('text/event-stream'))
    throw new Error(`${path} answered ${answer.status} ${type}: ${await answer.text()}`)
  const events: SentEvent<T>[] = []
  const read = async (): Promise<void> => {
    let text = ''
    for await (const chunk of answer.body!.pipeThrough(new TextDecoderStream())) {
      text += chunk
      for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
        const lines = text.slice(0, end).split('\n')
        text = text.slice(end + 2)
        const member = (name: string) => lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2)
        const data = member('data')
        if (data !== undefined) events.push({ event: member('event') ?? 'message', id: member('id'), data: JSON.parse(data) as T })
      }
    }
  }
  return { events, ended: read().catch(() => {}), close: () => gone.abort() }
}

/** Listens until the first event has come; that is the answer. */
export async function answeredWithEvents(client: Client, path: string): Promise<Answer> {
  const listener = await listen(client, path)
  await eventually('an event came', async () => listener.events.length > 0)
  listener.close()
  return { status: 200, headers: new Headers(), body: {} }
}
