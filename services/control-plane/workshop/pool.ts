/**
 * Workshop processes and who may use them: one job at a time and process; a process serves one account until it is replaced; an account has
 * at most two at once, and its further jobs wait for a while.
 */
import { ServiceError, unavailable } from '../service-error.ts'
import type { WorkshopProcess } from './process.ts'

export type Pool = {
  /**
   * A process for the account's next job. Throws ServiceError `rate_limit_exceeded` when the account has too many jobs, and `unavailable`
   * when all processes are busy for too long.
   */
  acquire(accountId: string): Promise<WorkshopProcess>
  /** The job is done. A process that is not good any more is replaced. */
  release(process: WorkshopProcess, isGood: boolean): void
  close(): Promise<void>
}

const PER_ACCOUNT_MAX = 2
const WAITING_PER_ACCOUNT_MAX = 16
const WAIT_MAX_MS = 10_000
const IDLE_MAX_MS = 30_000
const JOBS_MAX = 100
/** A process that has grown this far is replaced after its job. */
const KEPT_BYTES_MAX = 384 << 20
/** The job that took the last spare process needs the cores first. */
const NEXT_SPARE_MS = 50

type Place = { accountId: string; isBusy: boolean; jobs: number; idleTimer: NodeJS.Timeout | undefined }
type Waiting = { accountId: string; start(): void }

/** `count`: processes at once, besides a spare one that waits. */
export function openPool(count: number, start: () => WorkshopProcess): Pool {
  const places = new Map<WorkshopProcess, Place>()
  const waiting: Waiting[] = []
  let closed = false
  let spare: WorkshopProcess | undefined
  startSpare()

  function startSpare(): void {
    if (closed || spare) return
    let process: WorkshopProcess
    try {
      process = spare = start()
    } catch {
      // Without files or processes for it; the next request tries again.
      return
    }
    void process.ended.then(() => {
      if (spare === process) spare = undefined
      clearTimeout(places.get(process)?.idleTimer)
      places.delete(process)
      startWaiting()
    })
  }

  const busyOf = (accountId: string): number => [...places.values()].filter((each) => each.accountId === accountId && each.isBusy).length
  const idle = (isWanted: (place: Place) => boolean) => [...places].find(([, place]) => !place.isBusy && isWanted(place))?.[0]
  const mayStart = (accountId: string): boolean =>
    busyOf(accountId) < PER_ACCOUNT_MAX && (places.size < count || idle(() => true) !== undefined)

  function drop(process: WorkshopProcess): void {
    clearTimeout(places.get(process)?.idleTimer)
    places.delete(process)
    process.kill()
  }

  /** Call only where the account may start. */
  function take(accountId: string): WorkshopProcess {
    const own = idle((place) => place.accountId === accountId)
    if (own) {
      const place = places.get(own)!
      clearTimeout(place.idleTimer)
      place.isBusy = true
      return own
    }
    const other = places.size < count ? undefined : idle(() => true)
    if (other) drop(other)
    if (!spare) startSpare()
    const process = spare
    if (!process) throw unavailable('a process for the request')
    spare = undefined
    places.set(process, { accountId, isBusy: true, jobs: 0, idleTimer: undefined })
    setTimeout(startSpare, NEXT_SPARE_MS).unref()
    return process
  }

  /** Starts what waits and may start, the oldest first. */
  function startWaiting(): void {
    for (const each of waiting.slice()) if (mayStart(each.accountId)) each.start()
  }

  /** A process as soon as it is the account's turn; undefined when that takes too long. */
  function turn(accountId: string): Promise<WorkshopProcess | undefined> {
    return new Promise((resolve) => {
      const leave = (process: WorkshopProcess | undefined) => {
        clearTimeout(timer)
        waiting.splice(waiting.indexOf(entry), 1)
        resolve(process)
      }
      const timer = setTimeout(() => leave(undefined), WAIT_MAX_MS)
      const entry: Waiting = {
        accountId,
        start() {
          try {
            leave(take(accountId))
          } catch {
            leave(undefined)
          }
        },
      }
      waiting.push(entry)
    })
  }

  return {
    async acquire(accountId) {
      if (mayStart(accountId)) return take(accountId)
      const ahead = waiting.filter((each) => each.accountId === accountId).length
      const process = ahead < WAITING_PER_ACCOUNT_MAX ? await turn(accountId) : undefined
      if (process) return process
      throw busyOf(accountId) >= PER_ACCOUNT_MAX ? tooMany() : unavailable('a process for the request')
    },
    release(process, isGood) {
      const place = places.get(process)
      if (!place) return
      place.isBusy = false
      if (!isGood || ++place.jobs >= JOBS_MAX || process.usage().rssBytes > KEPT_BYTES_MAX) drop(process)
      else place.idleTimer = setTimeout(() => drop(process), IDLE_MAX_MS).unref()
      startWaiting()
    },
    async close() {
      closed = true
      const all = [...places.keys(), ...(spare ? [spare] : [])]
      for (const process of all) process.kill()
      await Promise.all(all.map(({ ended }) => ended))
    },
  }
}

const tooMany = (): ServiceError =>
  new ServiceError('rate_limit_exceeded', 'the account has too many uploads, checks and previews at once, try again in a second', {
    headers: { 'Retry-After': '1' },
  })
