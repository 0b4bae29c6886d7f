/** The http source by pages: what a service answers for a page that is not there yet does not end it. */
import { expect, it } from 'vitest'
import { HttpSourceConfig } from '../../shared/connectors/http/connector.ts'
import { openHttpSource } from '../../shared/connectors/http/source.ts'
import { createConnectorContext } from '../../shared/connectors/context.ts'
import { readSplit } from '../harness/conformance.ts'
import { openWebServer } from '../harness/web-server.ts'

const context = createConnectorContext({
  secretOf: () => undefined,
  defaults: { addresses: 'any', per_account: { warehouse: false, bucket: false }, bucket_folders: [] },
  runId: 'run',
  origin: 'web',
  fields: undefined,
  log: () => {},
  now: Date.now,
})

async function pagesAnswering(status: number, pages: number[][]) {
  const asked: number[] = []
  const server = await openWebServer((request, response) => {
    const page = Number(new URL(request.url ?? '', 'http://x').searchParams.get('page'))
    asked.push(page)
    const found = pages[page - 1]
    response.writeHead(found ? 200 : status, { 'content-type': 'application/json' }).end(found ? JSON.stringify(found) : '{}')
  })
  const config = HttpSourceConfig.parse({
    url: `${server.url}/`,
    paging: { kind: 'page', parameter: 'page' },
    poll_interval_ms: 1000,
  })
  return { asked, source: await openHttpSource(config, context), close: () => server.close() }
}

const newState = () => ({ position: undefined as string | undefined, seen: new Map<string, string>() })
const split = { index: 0, count: 1 }

it.each([400, 404, 416])('goes on when the page behind the last one is answered with %i', async (status) => {
  const pages = [[1, 2]]
  const { asked, source, close } = await pagesAnswering(status, pages)
  const reading = readSplit(source, split, newState(), (values) => values.length === 3)
  while (!asked.includes(2)) await new Promise((resolve) => setTimeout(resolve, 20))
  pages.push([3])
  expect(await reading).toEqual(['1', '2', '3'])
  await source.close()
  await close()
})

it('is refused when its first page is not there', async () => {
  const { source, close } = await pagesAnswering(404, [])
  await expect(readSplit(source, split, newState(), () => true)).rejects.toThrow('404')
  await source.close()
  await close()
})
