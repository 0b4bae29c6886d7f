/** The TypeScript client against the service, and as a package: one journey from a stream to a redriven dead letter. */
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { ApiError, createClient, type Client } from '../../clients/typescript/src/index.ts'
import { eventually, service, unique } from '../harness/client.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const run = promisify(execFile)

function connect(): Client {
  const { apiUrl, accounts } = service()
  const { api_key, api_secret } = accounts.enterprise
  return createClient({ url: apiUrl, apiKey: api_key, apiSecret: api_secret })
}

const CODE = (least: number) => `import { Path, Record } from 'dps'
const n = new Path('n')
export function filter(record: Record): bool {
  if (record.integer(n) == 13) record.fail('thirteen')
  return record.integer(n) >= ${least}
}
`

async function listOf<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const item of items) found.push(item)
  return found
}

async function* numbers(count: number) {
  for (let n = 0; n < count; n++) yield { n }
}

describe('the TypeScript client', () => {
  it('goes the way from a stream to a redriven dead letter', async () => {
    const dps = connect()
    const [from, to] = await Promise.all(
      ['from', 'to'].map((name) => dps.streams.create({ name: unique(name), schema: { n: 'integer' }, partitions: 1 })),
    )
    const name = unique('least')
    const module = await dps.smartmodules.deploy({ name, source: { language: 'typescript', code: CODE(10) } })
    const { pipeline_id: id } = await dps.pipelines.create({
      name: unique('pipeline'),
      source: { connector_id: 'stream', config: { stream_id: from!.id } },
      processors: [{ module_id: module.id }],
      sink: { connector_id: 'stream', config: { stream_id: to!.id } },
    })
    const stop = new AbortController()
    const tailed: unknown[] = []
    const tailing = (async () => {
      for await (const { event, data } of dps.pipelines.tail(id, { at: 'sink', last: 100 }, { signal: stop.signal }))
        if (event === 'frame') tailed.push(...data.records)
    })()
    expect(await dps.streams.write(from!.id, numbers(30), { recordsMax: 7 })).toEqual({ records: 30, requests: 5 })
    await eventually('all have passed', async () => {
      const { totals } = await dps.pipelines.getAccounting(id)
      return totals.in === 30 && totals.in_flight === 0
    })
    const found: unknown[] = []
    for await (const record of dps.streams.records(to!.id)) found.push(record)
    const expected = Array.from({ length: 20 }, (_, at) => ({ n: at + 10 })).filter(({ n }) => n !== 13)
    expect(found).toEqual(expected)
    await eventually('the tail has shown them', async () => tailed.length === 19)
    stop.abort()
    await tailing

    const letters = await listOf(dps.pipelines.allDeadLetters(id))
    expect(letters).toMatchObject([{ offset: 13, error: { message: 'thirteen' } }])
    await dps.smartmodules.deploy({ name, source: { language: 'typescript', code: CODE(0).replace('== 13', '== -1') } })
    let tag: string | undefined
    await dps.pipelines.get(id, { onTag: (found) => (tag = found) })
    const update = (ifMatch: string | undefined) =>
      dps.pipelines.update(
        id,
        { processors: [{ module_id: module.id, version: '1.0.1' }] },
        {},
        { ifMatch, onTag: (found) => (tag = found) },
      )
    const first = tag
    await update(first)
    expect(tag).not.toBe(first)
    await expect(update(first)).rejects.toMatchObject({ code: 'precondition_failed', status: 412 })
    await eventually('the new version runs', async () => (await dps.pipelines.getStatus(id)).tasks.some(({ revision }) => revision === 2))
    const job = await dps.pipelines.redriveDeadLetters(id, {})
    if (!('id' in job)) throw new Error('the redrive was a dry run')
    expect(await dps.jobs.wait(job.id)).toMatchObject({ status: 'finished' })
    expect(await listOf(dps.streams.records(to!.id))).toContainEqual({ n: 13 })

    expect((await listOf(dps.pipelines.all())).map((each) => each.id)).toContain(id)
    const error = await dps.streams.delete(from!.id).catch((each: unknown) => each)
    expect(error).toBeInstanceOf(ApiError)
    expect(error).toMatchObject({ code: 'conflict', status: 409 })
    await dps.pipelines.stop(id)
    await dps.pipelines.delete(id)
  })

  it('is a package that Node runs without this repository', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'dps-client-'))
    const env = { ...process.env, PATH: `${join(ROOT, 'node_modules', '.bin')}:${process.env.PATH}` }
    try {
      const source = join(folder, 'source')
      await run('cp', ['-r', join(ROOT, 'clients', 'typescript'), source])
      await run('npm', ['pack', '--pack-destination', folder], { cwd: source, env })
      await run('tar', ['xzf', 'data-pipeline-service-client-0.1.0.tgz'], { cwd: folder })
      const program = `import { createClient } from './package/dist/index.js'
const { URL, KEY, SECRET } = process.env
const dps = createClient({ url: URL, apiKey: KEY, apiSecret: SECRET })
console.log((await dps.account.get()).type)
`
      await writeFile(join(folder, 'program.mjs'), program)
      const { apiUrl, accounts } = service()
      const { api_key, api_secret } = accounts.enterprise
      const { stdout } = await run(process.execPath, ['program.mjs'], {
        cwd: folder,
        env: { ...env, URL: apiUrl, KEY: api_key, SECRET: api_secret },
      })
      expect(stdout.trim()).toBe('enterprise')
      const types = `import { createClient, type Pipeline } from './package/dist/index.js'
const dps = createClient({ url: '', apiKey: '', apiSecret: '' })
export const one: Promise<Pipeline> = dps.pipelines.get('pl_1')
export const wrong: string = dps.pipelines.get('pl_1')
export const again = dps.manifests.get('shop').then(({ manifest }) => dps.manifests.plan({ manifest }))
`
      await writeFile(join(folder, 'types.ts'), types)
      const checked = await run('tsc', ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2024', 'types.ts'], {
        cwd: folder,
        env,
      }).catch((error: { stdout: string }) => error)
      expect(checked.stdout.trim().split('\n')).toEqual([expect.stringContaining('types.ts(4,14)')])
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  })
})
