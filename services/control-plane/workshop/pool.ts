/**
 * Workshop processes and who may use them: one job at a time and process; a process serves one account until it is replaced. Jobs that
 * compute and jobs that wait for a server have places of their own. An account has at most two of either, and never all; its further jobs
 * wait for a while.
 */
import { tooManyAtOnce, unavailable } from '../service-error.ts'
import type { WorkshopProcess } from './process.ts'
import { createTurnsByAccount, type Waiting } from './turns-by-account.ts'

/** What a job mostly does: `waits` for an account's server, which may never answer. */
export type Kind = 'computes' | 'waits'

export type Pool = {
  /**
   * A process for the account's next job. Throws ServiceError `rate_limit_exceeded` when the account has too many jobs, and `unavailable`
   * when all processes are busy for too long. Rejects with the signal's reason once it is aborted.
   */
  acquire(accountId: string, kind: Kind, signal?: AbortSignal): Promise<WorkshopProcess>
  /** The job is done. A process that is not good any more is replaced. */
  release(child: WorkshopProcess, isGood: boolean): void
  close(): Promise<void>
}

const PER_ACCOUNT_MAX = 2
/** A burst of uploads. How much memory those that wait may take is bounded where bodies are read (`http/read-body.ts`). */
const WAITING_PER_ACCOUNT_MAX = 64
/** A request may need several processes, one after the other, and its client gives it up after 30 s. */
const WAIT_MAX_MS = 10_000
const IDLE_MAX_MS = 30_000
const JOBS_MAX = 100
/** A process that has grown this far is replaced after its job. */
const KEPT_BYTES_MAX = 384 << 20
/** The job that took the last spare process needs the cores first. */
const NEXT_SPARE_MS = 50

type Entry = {
  accountId: string
  /** Undefined while it is idle. */
  busy: Kind | undefined
  jobs: number
  idleTimer: NodeJS.Timeout | undefined
}

/** `count`: jobs at once that compute; as many and one wait for servers. One more process is spare. */
export function openPool(count: number, start: () => WorkshopProcess): Pool {
  const entries = new Map<WorkshopProcess, Entry>()
  const countOf: Record<Kind, number> = { computes: count, waits: count + 1 }
  const processesMax = countOf.computes + countOf.waits
  const waiting = { computes: createTurnsByAccount(), waits: createTurnsByAccount() }
  let closed = false
  let spare: WorkshopProcess | undefined
  startSpare()

  function startSpare(): void {
    if (closed || spare) return
    let child: WorkshopProcess
    try {
      child = spare = start()
    } catch {
      // Without files or processes for it; the next request tries again.
      return
    }
    void child.ended.then(() => {
      if (spare === child) spare = undefined
      clearTimeout(entries.get(child)?.idleTimer)
      entries.delete(child)
      startWaiting()
    })
  }

  /** One place is left to other accounts. */
  const isFull = (accountId: string, kind: Kind): boolean => {
    const own = [...entries.values()].filter((each) => each.accountId === accountId && each.busy === kind)
    return own.length >= Math.min(PER_ACCOUNT_MAX, Math.max(1, countOf[kind] - 1))
  }
  const idle = (isWanted: (entry: Entry) => boolean) => [...entries].find(([, entry]) => entry.busy === undefined && isWanted(entry))?.[0]
  const mayStart = (accountId: string, kind: Kind): boolean =>
    !isFull(accountId, kind) && [...entries.values()].filter(({ busy }) => busy === kind).length < countOf[kind]

  function drop(child: WorkshopProcess): void {
    clearTimeout(entries.get(child)?.idleTimer)
    entries.delete(child)
    child.kill()
  }

  /** Call only where the account may start. */
  function take(accountId: string, kind: Kind): WorkshopProcess {
    const own = idle((entry) => entry.accountId === accountId)
    if (own) {
      const entry = entries.get(own)!
      clearTimeout(entry.idleTimer)
      entry.busy = kind
      return own
    }
    const other = entries.size < processesMax ? undefined : idle(() => true)
    if (other) drop(other)
    if (!spare) startSpare()
    const child = spare
    if (!child) throw unavailable('a process for the request')
    spare = undefined
    entries.set(child, { accountId, busy: kind, jobs: 0, idleTimer: undefined })
    setTimeout(startSpare, NEXT_SPARE_MS).unref()
    return child
  }

  function startWaiting(): void {
    for (const kind of ['computes', 'waits'] as const) waiting[kind].startAll((accountId) => mayStart(accountId, kind))
  }

  /** A process as soon as it is the account's turn; undefined when that takes too long, or the signal is aborted. */
  function turn(accountId: string, kind: Kind, signal: AbortSignal | undefined): Promise<WorkshopProcess | undefined> {
    return new Promise((resolve) => {
      const leave = (child: WorkshopProcess | undefined) => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', giveUp)
        waiting[kind].remove(entry)
        resolve(child)
      }
      const giveUp = () => leave(undefined)
      const timer = setTimeout(giveUp, WAIT_MAX_MS)
      const entry: Waiting = {
        accountId,
        start() {
          try {
            leave(take(accountId, kind))
          } catch {
            leave(undefined)
          }
        },
      }
      signal?.addEventListener('abort', giveUp)
      waiting[kind].add(entry)
    })
  }

  return {
    async acquire(accountId, kind, signal) {
      signal?.throwIfAborted()
      if (mayStart(accountId, kind)) return take(accountId, kind)
      const child = waiting[kind].countOf(accountId) < WAITING_PER_ACCOUNT_MAX ? await turn(accountId, kind, signal) : undefined
      if (child) return child
      signal?.throwIfAborted()
      // Clients repeat a 429 whatever the request: nothing has been done.
      throw isFull(accountId, kind)
        ? tooManyAtOnce('the account has too many uploads, checks and previews')
        : unavailable('a process for the request')
    },
    release(child, isGood) {
      const entry = entries.get(child)
      if (!entry) return
      entry.busy = undefined
      if (!isGood || ++entry.jobs >= JOBS_MAX || child.usage().rssBytes > KEPT_BYTES_MAX) drop(child)
      else entry.idleTimer = setTimeout(() => drop(child), IDLE_MAX_MS).unref()
      startWaiting()
    },
    async close() {
      closed = true
      const all = [...entries.keys(), ...(spare ? [spare] : [])]
      for (const child of all) child.kill()
      await Promise.all(all.map(({ ended }) => ended))
    },
  }
}
