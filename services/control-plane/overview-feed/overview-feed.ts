/**
 * Changes in an account's pipelines and jobs, for clients that listen. An account is queried once a second however many listen, and not at
 * all when none does.
 */
import type { JobItem } from '../../../shared/api/jobs.ts'
import type { z } from 'zod'
import type { PipelineGlance } from '../../../shared/api/overview.ts'
import { isJobOver } from '../store/jobs.ts'

/** A job as events show it. */
export type ShownJob = Omit<z.input<typeof JobItem>, 'created_at' | 'updated_at'> & { created_at: string; updated_at: string }
/** All pipelines, and the jobs that have not ended or ended a moment ago. */
export type Overview = { pipelines: PipelineGlance[]; jobs: ShownJob[] }
export type OverviewChange =
  | { event: 'snapshot'; data: Overview }
  | { event: 'pipeline'; data: PipelineGlance }
  | { event: 'pipeline_deleted'; data: { id: string } }
  | { event: 'job'; data: ShownJob }

export type OverviewFeedOptions = {
  /** `known`: ids of the jobs that had not ended at the look before, which was at `since` or a little later. */
  look(accountId: string, known: readonly string[], since: Date): Promise<Overview>
  onFailure(error: unknown): void
}

export type OverviewFeed = {
  /** Calls `onChange` with a snapshot, and then with each change. Returns what ends it. */
  listen(accountId: string, onChange: (change: OverviewChange) => void): () => void
}

const LOOK_MS = 1000
/** A look that takes long makes the next one wait as many times as long. */
const REST_FACTOR = 9
/** How much the clocks of Postgres and of this machine may differ, and a transaction may take. */
const CLOCKS_MS = 5000

type Account = {
  listeners: Set<(change: OverviewChange) => void>
  pipelines: Map<string, PipelineGlance>
  jobs: Map<string, ShownJob>
  isKnown: boolean
  lookedAt: number
  timer: NodeJS.Timeout | undefined
}

/** Equal as JSON: both come from the same code, with their members in the same order. */
const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)

export function createOverviewFeed({ look, onFailure }: OverviewFeedOptions): OverviewFeed {
  const accounts = new Map<string, Account>()

  const snapshotOf = ({ pipelines, jobs }: Account): OverviewChange => ({
    event: 'snapshot',
    data: { pipelines: [...pipelines.values()], jobs: [...jobs.values()] },
  })

  function changesOf(account: Account, overview: Overview): OverviewChange[] {
    const gone = [...account.pipelines.keys()].filter((id) => !overview.pipelines.some((each) => each.id === id))
    const pipelines = overview.pipelines.filter((each) => !isSame(each, account.pipelines.get(each.id)))
    const jobs = overview.jobs.filter((each) => !isSame(each, account.jobs.get(each.id)))
    return [
      ...pipelines.map((data): OverviewChange => ({ event: 'pipeline', data })),
      ...gone.map((id): OverviewChange => ({ event: 'pipeline_deleted', data: { id } })),
      ...jobs.map((data): OverviewChange => ({ event: 'job', data })),
    ]
  }

  async function lookAt(accountId: string, account: Account): Promise<void> {
    const from = performance.now()
    const begun = Date.now()
    try {
      const moving = [...account.jobs.values()].filter((each) => !isJobOver(each))
      const overview = await look(
        accountId,
        moving.map(({ id }) => id),
        new Date(account.lookedAt - CLOCKS_MS),
      )
      account.lookedAt = begun
      const changes = changesOf(account, overview)
      account.pipelines = new Map(overview.pipelines.map((each) => [each.id, each]))
      account.jobs = new Map(overview.jobs.map((each) => [each.id, each]))
      const told = account.isKnown ? changes : [snapshotOf(account)]
      account.isKnown = true
      for (const change of told) for (const listener of account.listeners) listener(change)
    } catch (error) {
      // Its clients stay: they see what has changed meanwhile once it can be looked at again.
      onFailure(error)
    }
    if (account.listeners.size === 0) return
    account.timer = setTimeout(() => void lookAt(accountId, account), Math.max(LOOK_MS, (performance.now() - from) * REST_FACTOR))
  }

  return {
    listen(accountId, onChange) {
      let account = accounts.get(accountId)
      if (account) {
        account.listeners.add(onChange)
        if (account.isKnown) onChange(snapshotOf(account))
      } else {
        account = {
          listeners: new Set([onChange]),
          pipelines: new Map(),
          jobs: new Map(),
          isKnown: false,
          lookedAt: Date.now(),
          timer: undefined,
        }
        accounts.set(accountId, account)
        void lookAt(accountId, account)
      }
      const own = account
      return () => {
        own.listeners.delete(onChange)
        if (own.listeners.size > 0 || accounts.get(accountId) !== own) return
        clearTimeout(own.timer)
        accounts.delete(accountId)
      }
    },
  }
}
