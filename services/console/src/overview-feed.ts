/**
 * The account's pipelines as they change, over one connection for all tabs of the browser: the tab that holds the lock listens to the
 * service and broadcasts each event to the others. Browsers have no locks over plain HTTP: there each tab opens its own connection.
 */
import { computed, signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { OverviewSnapshot, GetOverviewResponse, PipelineGlance, Session } from '../../../clients/typescript/src/generated/types.ts'
import { parseAsWritten } from '../../../clients/typescript/src/core/exact-json.ts'
import { get, urlOf } from './api.ts'
import { unanswered, type Query } from './query.ts'
import { hasEnded, session } from './session.ts'

type Heard =
  | { event: 'snapshot'; data: Pick<OverviewSnapshot, 'pipelines'> }
  | { event: 'pipeline'; data: PipelineGlance }
  | { event: 'pipeline_deleted'; data: { id: string } }
type Passed = Heard | { event: 'hello' } | { event: 'away'; data: boolean }

const EVENTS = ['snapshot', 'pipeline', 'pipeline_deleted'] as const
const RETRY_MS = 2000
/** How often it asks where it can't listen. */
const ASK_MS = 10_000
const DRAW_MS = 50

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

const pipelines = signal<ReadonlyMap<string, PipelineGlance> | undefined>(undefined)
let isAway = false
let isStarted = false

function setAway(now: boolean): void {
  if (now !== isAway) unanswered.value += now ? 1 : -1
  isAway = now
}

/** What was heard and is not shown yet: a busy account's changes come in one go, and are drawn in one go. */
let waiting: Heard[] = []

function draw(): void {
  if (waiting.length === 0) return
  let next = new Map(pipelines.value)
  for (const { event, data } of waiting) {
    if (event === 'snapshot') next = new Map(data.pipelines.map((each) => [each.id, each]))
    else if (event === 'pipeline') next.set(data.id, data)
    else next.delete(data.id)
  }
  waiting = []
  pipelines.value = next
}

function hear(heard: Heard): void {
  setAway(false)
  if (waiting.push(heard) === 1) setTimeout(draw, DRAW_MS)
}

/** Listens until the connection ends; true where something was heard over it. */
function listenOnce(pass: (passed: Passed) => void): Promise<boolean> {
  const source = new EventSource(urlOf('/events'))
  let hasHeard = false
  for (const event of EVENTS) {
    source.addEventListener(event, ({ data }: MessageEvent<string>) => {
      const heard = { event, data: parseAsWritten(data) } as Heard
      hasHeard = true
      hear(heard)
      pass(heard)
    })
  }
  return new Promise((resolve) => {
    // Not left to the browser, which would come back with the cookie of a member who has signed in meanwhile.
    source.addEventListener('error', () => {
      source.close()
      resolve(hasHeard)
    })
  })
}

/** Listens to the service for as long as the page lives, and passes on what it says. */
async function listen(pass: (passed: Passed) => void): Promise<never> {
  const member = session.value?.member?.id
  for (;;) {
    const hasHeard = await listenOnce(pass)
    const sayAway = (now: boolean): void => {
      setAway(now)
      pass({ event: 'away', data: now })
    }
    sayAway(true)
    await pause(RETRY_MS)
    for (;;) {
      // Signed out: the page says so itself, and another session begins in this tab or is heard of from another.
      const now = hasEnded.value ? undefined : await get<Session>('/session').catch(() => undefined)
      if (now && now.member?.id !== member) location.reload()
      if (now) break
      if (hasEnded.value) sayAway(false)
      await pause(RETRY_MS)
    }
    if (hasHeard) continue
    // It answers, but takes no listener, because the account has too many: it is asked now and then instead.
    const answer = await get<GetOverviewResponse>('/overview').catch(() => undefined)
    if (!answer) continue
    const heard: Heard = { event: 'snapshot', data: answer }
    hear(heard)
    pass(heard)
    await pause(ASK_MS)
  }
}

function start(): void {
  if (isStarted) return
  isStarted = true
  if (!navigator.locks) return void listen(() => {})
  // A tab in which another member is signed in has nothing to do with it.
  const name = `dps-events ${session.value?.member?.id ?? ''}`
  const channel = new BroadcastChannel(name)
  let isListening = false
  const pass = (passed: Passed): void => channel.postMessage(passed)
  channel.addEventListener('message', ({ data: passed }: MessageEvent<Passed>) => {
    if (passed.event === 'hello') {
      if (waiting.length > 0) draw()
      if (!isListening || !pipelines.value) return
      pass({ event: 'snapshot', data: { pipelines: [...pipelines.value.values()] } })
      pass({ event: 'away', data: isAway })
    } else if (passed.event === 'away') setAway(passed.data)
    else hear(passed)
  })
  pass({ event: 'hello' })
  // Granted once the tab that listens now is closed.
  void navigator.locks.request(name, () => {
    isListening = true
    return listen(pass)
  })
}

/** What needs attention comes first, the most pressing at the top. */
const rankOf = ({ attention_rank }: PipelineGlance): number => attention_rank ?? Number.MAX_SAFE_INTEGER

const overview = computed((): GetOverviewResponse | undefined => {
  if (!pipelines.value) return undefined
  const all = [...pipelines.value.values()].sort((a, b) => rankOf(a) - rankOf(b) || (a.name < b.name ? -1 : 1))
  const sumOf = (member: 'records_per_second' | 'lag' | 'dead_letters') => all.reduce((sum, each) => sum + Number(each[member]), 0)
  const totals = {
    pipelines: all.length,
    attention: all.filter(({ attention }) => attention !== null).length,
    records_per_second: sumOf('records_per_second'),
    lag: sumOf('lag'),
    dead_letters: sumOf('dead_letters'),
  }
  return { pipelines: all, totals }
})

/** All pipelines, and what they come to together. */
export function useOverview(): Query<GetOverviewResponse> {
  useEffect(start, [])
  return { data: overview.value, failure: undefined, refresh: () => {} }
}
