/** The other system of the `http` sink: a web service that keeps the bodies that it accepted under their idempotency keys. */
import { text } from 'node:stream/consumers'
import { openWebServer } from './web-server.ts'

/** `answer` says with which status a body is answered. One below 300 accepts it. */
export async function openKeyedWebService() {
  const server = await openWebServer(async (request, response) => {
    const body = await text(request)
    const status = web.answer(body)
    if (status < 300) web.bodies.push({ body, key: String(request.headers['idempotency-key']) })
    response.writeHead(status).end()
  })
  const web = {
    url: `${server.url}/`,
    port: server.port,
    bodies: [] as { body: string; key: string }[],
    answer: (_body: string): number => 200,
    close: () => server.close(),
  }
  return web
}
