/** An S3-compatible store that misbehaves on purpose. */
import { buffer } from 'node:stream/consumers'
import { unique, type Client } from './client.ts'
import { openWebServer } from './web-server.ts'

type Stored = { body: Buffer; headers: Record<string, string> }

/** `deaf`: stores objects, but closes the connection instead of answering until `answer()` is called. `refuses`: answers PUT with 403. */
export async function openStore(mood: 'deaf' | 'refuses') {
  const objects = new Map<string, Stored>()
  let isDeaf = mood === 'deaf'
  const server = await openWebServer(async (request, response) => {
    const key = decodeURIComponent(request.url!.split('?')[0]!.slice('/any'.length))
    const body = await buffer(request)
    const isThere = objects.has(key)
    if (request.method === 'PUT' && mood === 'refuses')
      return void response.writeHead(403, { 'content-type': 'application/xml' }).end('<Error><Code>AccessDenied</Code></Error>')
    if (request.method === 'PUT') {
      const headers = Object.entries(request.headers).filter(([name]) => name.startsWith('x-amz-meta-')) as [string, string][]
      if (!isThere) objects.set(key, { body, headers: Object.fromEntries(headers) })
      if (isDeaf) return void request.socket.destroy()
      if (isThere)
        return void response.writeHead(412, { 'content-type': 'application/xml' }).end('<Error><Code>PreconditionFailed</Code></Error>')
    }
    response.writeHead(200, { etag: '"e"', ...objects.get(key)?.headers }).end()
  })
  return {
    objects,
    endpoint: server.url,
    answer: () => (isDeaf = false),
    close: () => server.close(),
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
