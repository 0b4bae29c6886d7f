/**
 * `dps mcp` as a language model's host starts it: which tools it has, what they answer, and that it writes nothing unless allowed twice.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text as textFrom } from 'node:stream/consumers'
import { Client as McpClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { loggedIn, service, unique, type Client } from '../harness/client.ts'
import { createPipeline, createStream, waitForStatus, waitForTotal, write } from '../harness/pipelines.ts'

const DPS = join(import.meta.dirname, '..', '..', 'clients', 'cli', 'src', 'main.ts')
const READING = ['dead_letters', 'describe', 'docs', 'explain', 'overview', 'plan', 'records', 'test_module']

let client: Client
beforeAll(async () => {
  client = await loggedIn(service().accounts.enterprise)
})

const opened: McpClient[] = []
afterEach(async () => {
  await Promise.all(opened.splice(0).map((each) => each.close()))
})

type Key = { api_key: string; api_secret: string }
/** How a host starts it. */
const processOf = (key: Key, options: readonly string[]) => ({
  command: process.execPath,
  args: ['--no-warnings', DPS, 'mcp', ...options],
  env: { PATH: process.env.PATH ?? '', DPS_URL: service().apiUrl, DPS_API_KEY: key.api_key, DPS_API_SECRET: key.api_secret },
})

async function open(key: Key, ...options: string[]): Promise<McpClient> {
  const transport = new StdioClientTransport(processOf(key, options))
  const mcp = new McpClient({ name: 'test', version: '1' })
  await mcp.connect(transport)
  opened.push(mcp)
  return mcp
}

async function ask(
  mcp: McpClient,
  name: string,
  input: object = {},
): Promise<{ isError: boolean; text: string; json: Record<string, unknown> }> {
  // A tool that compiles waits for the service as long as `dps` does; the SDK's own limit is a minute.
  const answer = await mcp.callTool({ name, arguments: { ...input } }, undefined, { timeout: 180_000 })
  const text = (answer.content as { text: string }[]).map((part) => part.text).join('')
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    json = {}
  }
  return { isError: answer.isError === true, text, json: json as Record<string, unknown> }
}

const toolsOf = async (mcp: McpClient): Promise<string[]> => (await mcp.listTools()).tools.map(({ name }) => name).toSorted()

describe('dps mcp', () => {
  it('has at most ten tools, and those that write only with --write and a key that may', async () => {
    const { enterprise } = service().accounts
    expect(await toolsOf(await open(enterprise))).toEqual(READING)
    expect(await toolsOf(await open(enterprise, '--write'))).toEqual([...READING, 'apply', 'redrive'].toSorted())
    expect(await toolsOf(await open(enterprise.read_only!, '--write'))).toEqual(READING)
    const { body } = await client.call<{ api_key: string; api_secret: string }>('POST', '/v1/keys', {
      name: unique('key'),
      scopes: ['pipelines:read'],
    })
    expect(await toolsOf(await open(body))).toEqual(['docs', 'overview'])
  })

  it('finds what failed, explains it, tries a change, and has it run again', async () => {
    const [from, to] = [
      await createStream(client, { n: 'integer' }, { partitions: 1 }),
      await createStream(client, { n: 'integer', half: 'integer' }),
    ]
    const name = unique('mcp')
    const id = await createPipeline(client, from.id, [{ name: 'dps/cel', config: { set: { half: '10 / value.n' } } }], to.id, { name })
    await waitForStatus(client, id, 'running')
    await write(client, from.id, [{ n: 5 }, { n: 0 }])
    await waitForTotal(client, to.id, 1)
    const mcp = await open(service().accounts.enterprise, '--write')
    expect((await ask(mcp, 'overview')).text).toContain(name)
    expect((await ask(mcp, 'describe', { kind: 'pipeline', name })).json).toMatchObject({
      status: { status: 'running' },
      accounting: { balanced: true },
    })
    expect((await ask(mcp, 'dead_letters', { pipeline: name })).json).toMatchObject({
      groups: [{ step: 1, count: 1 }],
      newest: [{ offset: 1 }],
    })
    expect((await ask(mcp, 'explain', { pipeline: name, partition: 0, offset: 1 })).text).toContain('divide by zero')
    expect((await ask(mcp, 'records', { stream: from.id, limit: 1 })).json).toMatchObject({ records: [{ partition: 0, offset: 1 }] })
    const code =
      "import { Path, Record } from 'dps'\nconst n = new Path('n')\nexport function filter(record: Record): bool { return record.number(n) > 0 }"
    const tried = await ask(mcp, 'test_module', { code, stream: from.id })
    expect((tried.json.records as { outcome: string }[]).map(({ outcome }) => outcome)).toEqual(['delivered', 'filtered'])
    expect((await ask(mcp, 'test_module', { code: 'export const x', stream: from.id })).json.faults).not.toHaveLength(0)
    expect((await ask(mcp, 'redrive', { pipeline: name })).json).toEqual({ dry_run: true, count: 1 })
    expect((await ask(mcp, 'redrive', { pipeline: name, dry_run: false })).json).toMatchObject({ count: 1, kind: 'redrive' })
  })

  it('plans a manifest and applies exactly that plan', async () => {
    const set = unique('set')
    const manifest = `dps: 1\nset: ${set}\nstreams:\n  ${set}-a: { schema: { n: integer } }\n`
    const mcp = await open(service().accounts.enterprise, '--write')
    const plan = (await ask(mcp, 'plan', { manifest })).json as { hash: string; changes: unknown[] }
    expect(plan.changes).toHaveLength(1)
    expect((await ask(mcp, 'apply', { manifest, hash: '0'.repeat(64) })).isError).toBe(true)
    expect((await ask(mcp, 'apply', { manifest, hash: plan.hash })).isError).toBe(false)
    expect(((await ask(mcp, 'plan', { manifest })).json as { changes: unknown[] }).changes).toEqual([])
  })

  it('answers each line, also one that is no message, and names an argument that a tool does not have', async () => {
    const { command, args, env } = processOf(service().accounts.enterprise, [])
    const child = spawn(command, args, { env, stdio: ['pipe', 'pipe', 'inherit'] })
    const answered = textFrom(child.stdout)
    const hello = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } }
    const call = { name: 'records', arguments: { stream: 'nothing', last: 3 } }
    const lines = [
      { jsonrpc: '2.0', id: 1, method: 'initialize', params: hello },
      { jsonrpc: '2.0', method: 'notifications/initialized' },
      'not json',
      [{ jsonrpc: '2.0', id: 12, method: 'ping' }],
      { jsonrpc: '1.0', id: 'a', method: 'ping' },
      { id: 14 },
      'null',
      '',
      { jsonrpc: '2.0', id: 2, method: 'tools/call', params: call },
    ]
    child.stdin.end(lines.map((line) => (typeof line === 'string' ? `${line}\n` : `${JSON.stringify(line)}\n`)).join(''))
    const [code] = (await once(child, 'exit')) as [number]
    type Reply = { id: unknown; error?: { code: number }; result?: { content?: { text: string }[] } }
    const replies = (await answered)
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Reply)
    expect([code, replies.flatMap(({ id, error }) => (error ? [[id, error.code]] : []))]).toEqual([
      0,
      [
        [null, -32_700],
        [null, -32_600],
        ['a', -32_600],
        [14, -32_600],
        [null, -32_600],
      ],
    ])
    expect(replies.filter(({ result }) => result).map(({ id }) => id)).toEqual([1, 2])
    expect(replies.find(({ id }) => id === 2)?.result?.content?.[0]?.text).toMatch(/last/)
  })

  it('says what is wrong as an answer, and finds operations', async () => {
    const mcp = await open(service().accounts.enterprise)
    const unknown = await ask(mcp, 'describe', { kind: 'stream', name: 'nothing' })
    expect([unknown.isError, unknown.text]).toEqual([true, expect.stringContaining('there is no stream named nothing')])
    expect((await ask(mcp, 'docs')).text).toContain('explainRecord: GET /pipelines/{id}/explain')
    expect((await ask(mcp, 'docs', { operation: 'explainRecord' })).json).toMatchObject({ method: 'GET' })
    expect((await ask(mcp, 'docs', { operation: 'createStream' })).text).toContain('"retention_ms"')
  })
})
