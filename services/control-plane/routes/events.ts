/** An account's events: its pipelines and jobs as they change. */
import { followEventsContract } from '../../../shared/api/events.ts'
import type { Listener } from '../../../shared/api/operation.ts'
import type { FleetChange, FleetFeed } from '../fleet-feed/fleet-feed.ts'
import { operation } from './operation.ts'

/** Sends each change; a client that reads too slowly gets the latest state of what it has missed, as a snapshot. */
function follow(fleetFeed: FleetFeed, accountId: string) {
  return async ({ send, room, signal }: Listener<(typeof followEventsContract)['events']>): Promise<void> => {
    let isBehind = false
    let stop = () => {}
    const pass = (change: FleetChange): boolean => {
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
    const listen = () => {
      stop()
      stop = fleetFeed.listen(accountId, (change) => {
        if (!isBehind) isBehind = !pass(change)
      })
    }
    listen()
    try {
      while (!signal.aborted) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, BEHIND_LOOK_MS)
          signal.addEventListener('abort', () => (clearTimeout(timer), resolve()), { once: true })
        })
        if (!isBehind || !(await room())) continue
        isBehind = false
        listen()
      }
    } finally {
      stop()
    }
  }
}

/** How often it is looked whether a slow client has read. */
const BEHIND_LOOK_MS = 1000

export const followEvents = operation(followEventsContract, async ({ fleetFeed }, { accountId }) => ({
  status: 200,
  events: follow(fleetFeed, accountId),
}))
