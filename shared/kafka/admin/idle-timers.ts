/**
 * kafkajs 2.2.4 looks through the request queue of each connection every millisecond, even where nothing waits in it: an idle process
 * woke up some 900 times a second (https://github.com/tulios/kafkajs/issues/1704). With this it looks only while something waits.
 */
import { createRequire } from 'node:module'

type RequestQueue = { pending: unknown[]; scheduleCheckPendingRequests(): void }

let isStopped = false

/** From now on, an empty queue of any kafkajs connection in this process sets no timer. Repeated calls have no effect. */
export function stopIdleTimers(): void {
  if (isStopped) return
  isStopped = true
  const { prototype } = createRequire(import.meta.url)('kafkajs/src/network/requestQueue/index.js') as { prototype: RequestQueue }
  const schedule = prototype.scheduleCheckPendingRequests
  prototype.scheduleCheckPendingRequests = function () {
    // What is put into the queue later schedules the next look by itself.
    if (this.pending.length > 0) schedule.call(this)
  }
}
