/** An account's events: its pipelines and jobs as they change. */
import { setTimeout as sleep } from 'node:timers/promises'
import { followEventsContract } from '../../../shared/api/events.ts'
import type { Listener } from '../../../shared/api/contract.ts'
import type { OverviewChange, OverviewFeed } from '../overview-feed/overview-feed.ts'
import { operation } from './operation.ts'

/** How often it is looked whether a slow client has read. */
const BEHIND_LOOK_MS = 1000

type Events = (typeof followEventsContract)['events']

/** False where the client reads too slowly. */
function pass(send: Listener<Events>['send'], change: OverviewChange): boolean {
  switch (change.event) {
    case 'snapshot':
      return send('snapshot', change.data)
    case 'pipeline':
      return send('pipeline', change.data)
    case 'pipeline_deleted':
      return send('pipeline_deleted', change.data)
    default:
      return send('job', change.data)
  }
}

/** Sends each change; a client that reads too slowly gets the latest state of what it has missed, as a snapshot. */
function follow(overviewFeed: OverviewFeed, accountId: string) {
  return async ({ send, room, signal }: Listener<Events>): Promise<void> => {
    let isBehind = false
    const listen = () =>
      overviewFeed.listen(accountId, (change) => {
        if (!isBehind) isBehind = !pass(send, change)
      })
    let stop = listen()
    try {
      while (!signal.aborted) {
        await sleep(BEHIND_LOOK_MS, undefined, { signal }).catch(() => {})
        if (!isBehind || !(await room())) continue
        stop()
        isBehind = false
        stop = listen()
      }
    } finally {
      stop()
    }
  }
}

export const followEventsOperation = operation(followEventsContract, async ({ overviewFeed }, { accountId }) => ({
  status: 200,
  events: follow(overviewFeed, accountId),
}))
