/** A web server of a test's own, on a free port of 127.0.0.1. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** `url` ends without a slash. Closing does not wait for requests that are not answered. */
export type WebServer = { url: string; port: number; close(): Promise<void> }

/** Calls `answer` for each request; without one, no request is answered. A client may leave in the middle of its body. */
export async function openWebServer(
  answer: (request: IncomingMessage, response: ServerResponse) => unknown = () => {},
): Promise<WebServer> {
  const server = createServer((request, response) => {
    void (async () => answer(request, response))().catch((error: unknown) => {
      if (request.complete) throw error
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    async close() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}
