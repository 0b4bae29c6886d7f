/** `/healthz`, `/readyz` and `/metrics` on a separate port without authentication: for probes and Prometheus, not for clients. */
import { reasonOf } from '../errors/reason-of.ts'
import { createServer } from 'node:http'
import { once } from 'node:events'
import type { Registry } from 'prom-client'

/** A listening server and its port. */
export type ProbesServer = { port: number; close(): Promise<void> }

/** The server, once it listens. `isReady` returns the reasons why the service is not ready; none means ready. */
export async function openProbesServer(
  host: string,
  port: number,
  registry: Registry,
  isReady: () => Promise<string[]>,
): Promise<ProbesServer> {
  const server = createServer(async (request, response) => {
    const answer = (status: number, type: string, body: string) => response.writeHead(status, { 'content-type': type }).end(body)
    try {
      switch (request.url) {
        case '/healthz':
          return answer(200, 'application/json', '{"status":"ok"}')
        case '/readyz': {
          const reasons = await isReady()
          return answer(
            reasons.length === 0 ? 200 : 503,
            'application/json',
            JSON.stringify({ status: reasons.length === 0 ? 'ready' : 'not ready', reasons }),
          )
        }
        case '/metrics':
          return answer(200, registry.contentType, await registry.metrics())
        default:
          return answer(404, 'application/json', '{"status":"not found"}')
      }
    } catch (error) {
      return answer(500, 'application/json', JSON.stringify({ status: 'error', reason: reasonOf(error) }))
    }
  })
  server.listen(port, host)
  await once(server, 'listening')
  const address = server.address()
  return {
    port: typeof address === 'object' && address !== null ? address.port : port,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  }
}
