/** An S3-compatible store that misbehaves on purpose. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { unique, type Client } from './client.ts'

type Stored = { body: Buffer; headers: Record<string, string> }

/** `deaf`: stores objects, but closes the connection instead of answering until `answer()` is called. `refuses`: answers PUT with 403. */
export async function openStore(mood: 'deaf' | 'refuses') {
  const objects = new Map<string, Stored>()
  let isDeaf = mood === 'deaf'
  const server = createServer(async (request, response) => {
    const key = decodeURIComponent(request.url!.split('?')[0]!.slice('/any'.length))
    const parts: Buffer[] = []
    for await (const part of request) parts.push(part as Buffer)
    const isThere = objects.has(key)
    if (request.method === 'PUT' && mood === 'refuses')
      return void response.writeHead(403, { 'content-type': 'application/xml' }).end('<Error><Code>AccessDenied</Code></Error>')
    if (request.method === 'PUT') {
      const headers = Object.entries(request.headers).filter(([name]) => name.startsWith('x-amz-meta-')) as [string, string][]
      if (!isThere) objects.set(key, { body: Buffer.concat(parts), headers: Object.fromEntries(headers) })
      if (isDeaf) return void request.socket.destroy()
      if (isThere)
        return void response.writeHead(412, { 'content-type': 'application/xml' }).end('<Error><Code>PreconditionFailed</Code></Error>')
    }
    response.writeHead(200, { etag: '"e"', ...objects.get(key)?.headers }).end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    objects,
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    answer: () => (isDeaf = false),
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}

/** The bucket config that leads to this store, with newly created secrets. */
export async function placeAt(client: Client, endpoint: string) {
  const [access, secret] = [unique('access'), unique('secret')]
  for (const name of [access, secret]) {
    const { status } = await client.call('POST', '/v1/secrets', { name, value: name })
    if (status !== 201) throw new Error(`creating a secret answered ${status}`)
  }
  return { endpoint, bucket: 'any', access_key: { $secret: access }, secret_key: { $secret: secret } }
}
