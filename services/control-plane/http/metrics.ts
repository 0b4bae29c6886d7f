/** What the control plane's `/metrics` says of its requests. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Histogram, type Registry } from 'prom-client'

/** To be called with each request as it comes. */
export function measureRequests(registry: Registry): (request: IncomingMessage, response: ServerResponse) => void {
  const durations = new Histogram({
    name: 'dps_http_request_seconds',
    help: 'Duration of HTTP requests, but for those of clients that listen to events',
    labelNames: ['method', 'status'],
    registers: [registry],
  })
  return (request, response) => {
    const from = performance.now()
    response.once('finish', () => {
      // These last as long as their clients listen.
      if (String(response.getHeader('content-type')).startsWith('text/event-stream')) return
      durations.observe({ method: request.method ?? '', status: String(response.statusCode) }, (performance.now() - from) / 1000)
    })
  }
}
