/**
 * A connection of the client library emits several `error` events when a broker refuses a login and then resets the connection. Its
 * opener handles only the first; the second would end the process. So each connection gets its own listener for its whole life.
 */
import { subscribe } from 'node:diagnostics_channel'
import { EventEmitter } from 'node:events'

/** The channel on which the library publishes every instance it creates (its docs/diagnostic.md). */
const INSTANCES = 'plt:kafka:instances'

let isListening = false

/** From now on, late errors of any new library connection in this process are ignored. Repeated calls have no effect. */
export function ignoreLateErrors(): void {
  if (isListening) return
  isListening = true
  subscribe(INSTANCES, (message) => {
    const { type, instance } = message as { type?: unknown; instance?: unknown }
    // The caller that waits for the connection or an answer still gets the error.
    if (type === 'connection' && instance instanceof EventEmitter) instance.on('error', () => {})
  })
}
