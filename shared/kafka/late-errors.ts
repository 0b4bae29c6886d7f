/**
 * Connections of the client library say more than one `error` where a broker refuses a log-in and then resets the line; whoever opened one
 * hears the first, and the second would end the process. Each gets a listener of its own for as long as it lives.
 */
import { subscribe } from 'node:diagnostics_channel'
import { EventEmitter } from 'node:events'

/** Where the library publishes what it makes (its docs/diagnostic.md). */
const INSTANCES = 'plt:kafka:instances'

let isListening = false

/** Of every connection in this process, whoever opens it. May be called again. */
export function ignoreLateErrors(): void {
  if (isListening) return
  isListening = true
  subscribe(INSTANCES, (message) => {
    const { type, instance } = message as { type?: unknown; instance?: unknown }
    // The error itself reaches whoever waits for the connection or an answer.
    if (type === 'connection' && instance instanceof EventEmitter) instance.on('error', () => {})
  })
}
