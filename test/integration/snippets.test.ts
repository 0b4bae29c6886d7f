/** What the documents tell people to type, run as it stands there: in a shell, in Node, in Python, or sent to the API. */
import { execFile, spawn } from 'node:child_process'
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { eventually, service, unique, type Client } from '../harness/client.ts'
import { columnTypes, openS3, openWarehouse, waitForRows } from '../harness/connectors.ts'
import { openAccount } from '../harness/operator.ts'
import { createStream, readAll, waitForTotal, write } from '../harness/pipelines.ts'
import { python } from '../harness/python.ts'
import { isFolder } from '../../deploy/local/bucket.ts'
import type { Account } from '../../deploy/local/launcher.ts'
import { limitMs } from '../harness/machine-speed.ts'

const LIMIT_MS = Math.max(600_000, limitMs(60_000))

const ROOT = join(import.meta.dirname, '..', '..')
const run = promisify(execFile)

/** The blocks of a language in a document, in their order. */
async function blocksOf(file: string, language: string): Promise<string[]> {
  const text = await readFile(join(ROOT, file), 'utf8')
  return [...text.matchAll(/^```(\w*)\n([\s\S]*?)^```/gm)].filter(([, each]) => each === language).map(([, , block]) => block!)
}
async function blockWith(file: string, language: string, part: string): Promise<string> {
  const found = (await blocksOf(file, language)).find((block) => block.includes(part))
  if (found === undefined) throw new Error(`${file} has no block of ${language} with ${part}`)
  return found
}

let folder: string
let client: Client
let account: Account
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dps-snippets-'))
  const opened = await openAccount('enterprise')
  client = opened.client
  account = opened.account
  await mkdir(join(folder, '.local'))
  const { api_key, api_secret } = account
  await writeFile(
    join(folder, '.local', 'stack.json'),
    JSON.stringify({ api_url: service().apiUrl.replace(/\/api$/, ''), api_key, api_secret, bucket: service().bucket }),
  )
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const environment = ({ api_key, api_secret } = account) => ({
  PATH: process.env.PATH,
  HOME: folder,
  DPS_URL: service().apiUrl,
  DPS_API_KEY: api_key,
  DPS_API_SECRET: api_secret,
})
const shell = (script: string, env: Record<string, string> = {}) =>
  run('bash', ['-euc', script], { cwd: folder, env: { ...environment(), ...env }, timeout: LIMIT_MS })

const streamNamed = async (name: string): Promise<string> => {
  const { body } = await client.call<{ streams: { id: string; name: string }[] }>('GET', '/v1/streams?limit=100')
  const found = body.streams.find((stream) => stream.name === name)
  if (!found) throw new Error(`there is no stream ${name}`)
  return found.id
}

/** Runs a program until `isDone` of what it has printed, then ends it. */
async function follow(program: string, args: string[], env: Record<string, string | undefined>, isDone: (out: string) => boolean) {
  const child = spawn(program, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] })
  let out = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text: string) => (out += text))
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()))
  try {
    await eventually('the program has printed it', async () => {
      if (child.exitCode !== null && !isDone(out)) throw new Error(`it ended: ${out}`)
      return isDone(out)
    })
  } finally {
    child.kill('SIGINT')
    await closed
  }
  return out
}

describe('the README', () => {
  it('leads from keys to a large order by curl, and from a file to another one', async () => {
    // Files are copied into a bucket that is a folder.
    const parts = isFolder(service().bucket) ? ['auth/token'] : ['auth/token', 'orders.csv']
    const blocks = await Promise.all(parts.map((part) => blockWith('README.md', 'sh', part)))
    const { stdout } = await shell(blocks.join('\n').replaceAll('incoming/', `${unique('incoming')}/`))
    expect(stdout.match(/"pipeline_id"/g)).toHaveLength(parts.length)
    expect(stdout).not.toContain('"error"')
    const large = await streamNamed('large orders')
    await waitForTotal(client, large, parts.length)
    const amounts = (await readAll(client, large)).map(({ id, amount }) => [id, amount])
    expect(Object.fromEntries(amounts)).toEqual(parts.length === 1 ? { a: 250 } : { a: 250, c: 300.5 })
  })
})

describe('dps', () => {
  it('does what its README shows, line by line', async () => {
    const block = await blockWith('clients/cli/README.md', 'sh', 'dps init shop')
    let hash = ''
    let place = folder
    for (const line of block.split('\n').filter((each) => each !== '' && !each.startsWith('export PATH'))) {
      const command = line
        .replace(/\s+# .*$/, '')
        .replace('3f2a…', hash)
        .replace('http://localhost:8080', service().apiUrl)
      const env = {
        ...environment(),
        PATH: `${join(ROOT, 'clients', 'cli')}:${process.env.PATH}`,
        SECRET: account.api_secret,
        KEY: account.api_key,
        PASSWORD: 'open sesame',
      }
      const isEndless = /^dps (dev|tail|logs .*-f)/.test(command)
      const script = isEndless ? `timeout -s INT 4 ${command} < /dev/null; [ $? -le 130 ]` : `${command}; code=$?; pwd >&2; exit $code`
      const ran = await run('bash', ['-c', script], { cwd: place, env, timeout: LIMIT_MS }).then(
        ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
        (error: { code: number; stdout: string; stderr: string }) => error,
      )
      const expected = command.startsWith('dps diff') ? 1 : 0
      expect(`${command}: ${ran.code}`, ran.stdout + ran.stderr).toBe(`${command}: ${expected}`)
      if (!isEndless) place = ran.stderr.trim().split('\n').at(-1)!
      if (command.startsWith('dps diff')) hash = /[0-9a-f]{64}/.exec(ran.stdout + ran.stderr)![0]
      if (command.startsWith('dps produce')) await waitForTotal(client, await streamNamed('shop large orders'), 2)
    }
    expect(hash).not.toBe('')
    // The replay has written them once more.
    await waitForTotal(client, await streamNamed('shop large orders'), 4)
  })

  it('plans the manifest of the docs', async () => {
    const place = join(folder, 'as-in-the-docs')
    const dps = join(ROOT, 'clients', 'cli', 'dps')
    await run('bash', ['-c', `"$0" init as-in-the-docs`, dps], { cwd: folder, env: environment(), timeout: LIMIT_MS })
    await writeFile(
      join(place, 'shop.yaml'),
      (await blockWith('docs/manifests.md', 'yaml', 'set: shop')).replaceAll('shop', unique('docs')),
    )
    // The account of the other snippets has a stream of this name, which can't become this one.
    const env = environment((await openAccount('developer')).account)
    const planned = run('bash', ['-c', '"$0" diff shop.yaml -o json', dps], { cwd: place, env, timeout: LIMIT_MS })
    const { code, stdout } = (await planned.catch((error: unknown) => error)) as { code: number; stdout: string }
    expect([code, JSON.parse(stdout)]).toMatchObject([
      1,
      { changes: expect.arrayContaining([expect.objectContaining({ name: 'big-orders' })]) },
    ])
  })
})

describe('the guide to files', () => {
  it('leads from objects to a table, a redrive and Parquet', async (context) => {
    if (isFolder(service().bucket)) context.skip('files are copied into a bucket that is a folder')
    const name = unique('sales').replaceAll('-', '_').toLowerCase()
    const [begin = '', ...parts] = (await blocksOf('docs/files.md', 'sh')).map((block) =>
      block.replaceAll('sales', name).replaceAll('days', `${name}_days`),
    )
    const env = { PATH: `${join(ROOT, 'clients', 'cli')}:${process.env.PATH}` }
    const run = (part: string) => shell(begin + parts.find((each) => each.includes(part))!, env)
    const [warehouse, s3] = [await openWarehouse(), openS3()]
    await run('monday.csv')
    await waitForRows(warehouse, name, 2)
    expect(await columnTypes(warehouse, name)).toEqual({ id: 'bigint', amount: 'numeric', day: 'date' })
    await eventually('the third row is a dead letter', async () => (await run('dlq groups')).stdout.includes('is not a decimal: "n/a"'))
    await run('dlq redrive')
    await waitForRows(warehouse, name, 3)
    await run('tuesday.ndjson.gz')
    await waitForRows(warehouse, name, 5)
    await run('days.yaml')
    await eventually('there is a folder for each day', async () => (await s3.keys(`${name}_days/`)).length === 5)
    expect((await s3.keys(`${name}_days/`))[0]).toContain('/day=2026-11-22/')
    // One more shows the table.
    expect(parts.filter((each) => !each.includes('psql')).length).toBe(5)
    s3.close()
    await warehouse.end()
  })
})

describe('the clients', () => {
  /** The record itself, and the frame in which it was followed. */
  const seen = (out: string) => out.includes('o-1') && out.includes('partition')

  it('for TypeScript writes, reads and follows as its README shows', async () => {
    const code = (await blockWith('clients/typescript/README.md', 'ts', 'createClient'))
      .replace("'@data-pipeline-service/client'", JSON.stringify(join(ROOT, 'clients', 'typescript', 'src', 'index.ts')))
      .replace('http://localhost:8080', service().apiUrl)
      .replace("name: 'orders'", `name: ${JSON.stringify(unique('ts-orders'))}`)
    await writeFile(join(folder, 'snippet.ts'), code)
    await follow(process.execPath, ['--no-warnings', 'snippet.ts'], environment(), seen)
  })

  it('for Python does too', { timeout: Math.max(900_000, limitMs(400_000)) }, async (context) => {
    const interpreter = await python().catch((error: unknown) => context.skip(`no Python with its packages: ${String(error)}`))
    const keys = 'import os\napi_key, api_secret = os.environ["DPS_API_KEY"], os.environ["DPS_API_SECRET"]\n'
    const code = (await blockWith('clients/python/README.md', 'python', 'dps_client'))
      .replace('http://localhost:8080', service().apiUrl)
      .replace('"name": "orders"', `"name": ${JSON.stringify(unique('py-orders'))}`)
    await writeFile(join(folder, 'snippet.py'), keys + code)
    const env = { ...environment(), PYTHONPATH: join(ROOT, 'clients', 'python', 'src'), PYTHONUNBUFFERED: '1' }
    await follow(interpreter, ['snippet.py'], env, seen)
  })
})

describe('a webhook', () => {
  it('takes what the shell of its README signs', async () => {
    const sink = await createStream(client, { n: 'integer' }, { partitions: 1 })
    const kept = await client.call('POST', '/v1/secrets', { name: 'hook', value: 'hook secret' })
    expect([kept.status, kept.body]).toMatchObject([201, {}])
    const { status, body } = await client.call<{ pipeline_id: string }>('POST', '/v1/pipelines', {
      name: unique('hook'),
      source: { connector_id: 'webhook', config: { secret: { $secret: 'hook' } } },
      processors: [],
      sink: { connector_id: 'stream', config: { stream_id: sink.id } },
    })
    expect([status, body]).toMatchObject([201, {}])
    const block = await blockWith('shared/connectors/webhook/README.md', 'sh', 'openssl')
    await shell(block, { SECRET: 'hook secret', API: `${service().apiUrl}/v1`, PIPELINE: body.pipeline_id })
    await waitForTotal(client, sink.id, 1)
    expect(await readAll(client, sink.id)).toMatchObject([{ n: 1 }])
  })
})

describe('the guide to SmartModules', () => {
  it('shows bodies that the API takes', async () => {
    const code = await blockWith('docs/smartmodules.md', 'ts', 'class Settings')
    const source = { language: 'typescript', code }
    const given = (await blocksOf('docs/smartmodules.md', 'json')).map((block) => JSON.parse(block) as Record<string, unknown>)
    const stream = await createStream(client, { amount: 'number' }, { partitions: 1 })
    await write(client, stream.id, [{ amount: 120 }])
    const name = unique('big-only')
    const sent: string[] = []
    const send = async (path: string, body: unknown) => {
      const answer = await client.call<{ id: string; records: { steps: { error?: object }[] }[] }>('POST', path, body)
      expect([path, answer.status, answer.body]).toMatchObject([path, expect.toSatisfy((status: number) => status < 300), {}])
      sent.push(path)
      return answer.body
    }
    const tests = given.find((body) => 'tests' in body)!
    const { id } = await send('/v1/smartmodules', { ...given.find((body) => 'source' in body), name, source, ...tests })
    await send('/v1/smartmodules', { name, source, ...tests })
    await send(`/v1/smartmodules/${id}/compare`, {
      ...given.find((body) => 'before' in body),
      stream_id: stream.id,
    })
    const trial = given.find((body) => 'processors' in body) as { processors: object[] }
    await send('/v1/smartmodules/test', { ...trial, processors: trial.processors.map((step) => ('source' in step ? { source } : step)) })
    for (const [module_id, member] of [
      ['dps/cel', 'filter'],
      ['dps/cast', 'fields'],
    ] as const) {
      const config = given.find((body) => member in body)
      const value = { id: '7', amount: '1.250,5', day: '24.12.2026', city: 'W', quantity: 2 }
      const amount = module_id === 'dps/cel' ? { amount: 60 } : {}
      const tried = await send('/v1/smartmodules/test', {
        processors: [{ module_id, config }],
        records: [{ value: { ...value, ...amount } }],
      })
      expect(tried.records[0]!.steps[0]!.error).toBeNull()
    }
    expect(sent.length).toBe(6)
    // All that is shown was sent, but for a plug-in that only has the beginning of its binary.
    expect(given.filter((body) => !('wasm_binary' in body)).length).toBe(6)
  })
})

describe('the guide to connectors', () => {
  it('shows a connector that compiles', async () => {
    await cp(join(ROOT, 'shared'), join(folder, 'shared'), { recursive: true })
    await cp(join(ROOT, 'package.json'), join(folder, 'package.json'))
    await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
    const example = join(folder, 'shared', 'connectors', 'example')
    await mkdir(example)
    for (const block of await blocksOf('docs/connectors-writing.md', 'ts')) {
      const name = ['openExampleSink(', 'openExampleSource('].findIndex((opens) => block.includes(`function ${opens}`))
      await writeFile(join(example, ['sink.ts', 'source.ts'][name] ?? 'connector.ts'), block)
    }
    const config = { extends: join(ROOT, 'tsconfig.json'), include: [], files: ['connector.ts', 'sink.ts', 'source.ts'] }
    await writeFile(
      join(example, 'tsconfig.json'),
      JSON.stringify({ ...config, compilerOptions: { noEmit: true, noUnusedParameters: false, noUnusedLocals: false } }),
    )
    const compiled = run('tsc', ['-p', example], { env: environment(), timeout: LIMIT_MS })
    expect(
      await compiled.then(
        () => 'compiled',
        (error: { stdout: string }) => error.stdout || String(error),
      ),
    ).toBe('compiled')
  })
})
