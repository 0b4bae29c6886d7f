/** Answers of the API as a component's state: refreshed while the page is visible, kept while the service is away. */
import { signal } from '@preact/signals'
import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { Failure, get, withQuery } from './api.ts'
import { hasEnded } from './session.ts'
import { Mistyped } from './typed-text.ts'

/** How many questions have gone without an answer: the page says that it tries again. */
export const unanswered = signal(0)

export type Query<T> = {
  data: T | undefined
  /** Why there is no newer answer. */
  failure: Failure | undefined
  refresh(): void
}

type Read = <T>(path: string, signal: AbortSignal) => Promise<T>

/** Asks for the path now and, with `everyMs`, again and again. A path of null asks nothing. */
export function useQuery<T>(path: string | null, everyMs = 0, read: Read = get): Query<T> {
  const [state, setState] = useState<{ path: string | null; data: T | undefined; failure: Failure | undefined }>({
    path,
    data: undefined,
    failure: undefined,
  })
  const [turn, setTurn] = useState(0)
  const isAway = useRef(false)
  const away = (now: boolean): void => {
    if (now !== isAway.current) unanswered.value += now ? 1 : -1
    isAway.current = now
  }

  useEffect(() => {
    if (path === null) return
    const abort = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    const ask = async (): Promise<void> => {
      if (document.visibilityState === 'hidden') {
        timer = setTimeout(ask, 1000)
        return
      }
      try {
        const data = await read<T>(path, abort.signal)
        away(false)
        setState({ path, data, failure: undefined })
      } catch (error) {
        if (abort.signal.aborted) return
        const failure = error instanceof Failure ? error : new Failure(0, 'unknown', String(error))
        away(failure.status === 0 || failure.status >= 500)
        setState((before) => ({ path, data: before.path === path ? before.data : undefined, failure }))
        // What is not there does not come by asking; a session that has ended begins again by signing in, and then all is asked anew.
        if (failure.status === 404 || failure.status === 401) return
      }
      if (everyMs > 0 || isAway.current) timer = setTimeout(ask, isAway.current ? 2000 : everyMs)
    }
    void ask()
    return () => {
      abort.abort()
      clearTimeout(timer)
      away(false)
    }
  }, [path, everyMs, turn, hasEnded.value])

  const refresh = useCallback(() => setTurn((before) => before + 1), [])
  const isCurrent = state.path === path
  return { data: isCurrent ? state.data : undefined, failure: isCurrent ? state.failure : undefined, refresh }
}

/** A list by name: its first page, with what the pages behind it hold. */
async function readAll<T>(path: string, signal: AbortSignal): Promise<T> {
  const query = { page_size: 100, sort: 'name' }
  const first = await get<Record<string, unknown>>(withQuery(path, query), signal)
  let { next_cursor: cursor } = first
  while (cursor !== undefined) {
    const page = await get<Record<string, unknown>>(withQuery(path, { ...query, cursor: String(cursor) }), signal)
    for (const [name, items] of Object.entries(page)) if (Array.isArray(items)) (first[name] as unknown[]).push(...items)
    cursor = page.next_cursor
  }
  return first as T
}

/** All of a list, however long it is. A path of null asks nothing. */
export const useAll = <T>(path: string | null): Query<T> => useQuery<T>(path, 0, readAll)

function failureOf(error: unknown): Failure {
  if (error instanceof Failure) return error
  const message = error instanceof Error ? error.message : String(error)
  return new Failure(0, 'unknown', message, error instanceof Mistyped ? [{ path: error.at, message }] : [])
}

/** What a button does: runs once at a time, and keeps why it failed. `run` resolves with whether it did not. */
export function useAction(): { run(work: () => Promise<unknown>): Promise<boolean>; isBusy: boolean; failure: Failure | undefined } {
  const [state, setState] = useState<{ isBusy: boolean; failure: Failure | undefined }>({ isBusy: false, failure: undefined })
  const run = useCallback(async (work: () => Promise<unknown>) => {
    setState({ isBusy: true, failure: undefined })
    try {
      await work()
      setState({ isBusy: false, failure: undefined })
      return true
    } catch (error) {
      setState({
        isBusy: false,
        failure: failureOf(error),
      })
      return false
    }
  }, [])
  return { run, ...state }
}
