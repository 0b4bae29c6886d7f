/** Objects that the store lists and does not give out: archived ones, and ones that the access key may not read. */
import { expect, it } from 'vitest'
import { createConnectorContext } from '../../shared/connectors/context.ts'
import { BucketSourceConfig } from '../../shared/connectors/storage-bucket/connector.ts'
import { openBucketSource } from '../../shared/connectors/storage-bucket/source.ts'
import { readSplit } from '../harness/conformance.ts'
import { openWebServer } from '../harness/web-server.ts'

/** `objects`: by key, the content, or the code with which a GET is refused. */
async function openStore(objects: Record<string, string | { code: string }>) {
  const server = await openWebServer((request, response) => {
    const url = new URL(request.url ?? '', 'http://x')
    const key = decodeURIComponent(url.pathname).split('/').slice(2).join('/')
    const answer = (status: number, body: string) => response.writeHead(status, { 'content-type': 'application/xml' }).end(body)
    if (key === '') {
      const contents = Object.keys(objects).map(
        (name) =>
          `<Contents><Key>${name}</Key><ETag>"${name}"</ETag><Size>9</Size><LastModified>2026-01-01T00:00:00Z</LastModified></Contents>`,
      )
      return answer(200, `<ListBucketResult><IsTruncated>false</IsTruncated>${contents.join('')}</ListBucketResult>`)
    }
    const found = objects[key]!
    return typeof found === 'string' ? answer(200, found) : answer(403, `<Error><Code>${found.code}</Code><Message>no</Message></Error>`)
  })
  const context = createConnectorContext({
    secretOf: () => 'key',
    defaults: { addresses: 'any', per_account: { warehouse: false, bucket: false }, bucket_folders: [] },
    runId: 'run',
    origin: 'x',
    fields: undefined,
    log: () => {},
    now: Date.now,
  })
  const config = BucketSourceConfig.parse({
    bucket: 'bucket',
    endpoint: server.url,
    access_key: { $secret: 'a' },
    secret_key: { $secret: 'b' },
    follow: false,
  })
  const source = await openBucketSource(config, context)
  return {
    read: () => readSplit(source, { index: 0, count: 1 }, { position: undefined, seen: new Map() }, () => false, 60_000),
    async close() {
      await source.close()
      await server.close()
    },
  }
}

it.each(['InvalidObjectState', 'AccessDenied'])(
  'an object refused with %s becomes a dead letter, and the others are read',
  async (code) => {
    const store = await openStore({ 'a.ndjson': { code }, 'b.ndjson': '{"n":1}\n\n', 'c.ndjson': { code } })
    expect((await store.read()).sort()).toEqual(['a.ndjson', 'c.ndjson', '{"n":1}'])
    await store.close()
    // An object that is no JSON was given out too.
    const malformed = await openStore({ 'a.json': { code }, 'b.json': '[1,}    ' })
    expect((await malformed.read()).length).toBeGreaterThan(1)
    await malformed.close()
  },
)

it.each(['AccessDenied', 'InvalidAccessKeyId', 'SignatureDoesNotMatch'])(
  'a key that may read none of them (%s) makes no dead letters',
  async (code) => {
    const store = await openStore({ 'a.ndjson': { code }, 'b.ndjson': { code } })
    await expect(store.read()).rejects.toThrow()
    await store.close()
  },
)

it('a key that may read none of them for a while makes no dead letters either', async () => {
  const objects: Record<string, string | { code: string }> = { 'a.ndjson': '{"n":1}\n\n' }
  const store = await openStore(objects)
  expect(await store.read()).toEqual(['{"n":1}'])
  objects['a.ndjson'] = { code: 'AccessDenied' }
  objects['b.ndjson'] = { code: 'AccessDenied' }
  await expect(store.read()).rejects.toThrow()
  objects['a.ndjson'] = '{"n":2}\n\n'
  expect((await store.read()).sort()).toEqual(['b.ndjson', '{"n":2}'])
  await store.close()
})
