/** `dps produce` with a service of its own: what is sent, and what is said of a file that can't be read. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { runProgram } from '../../clients/cli/src/program.ts'
import { openWebServer, type WebServer } from '../harness/web-server.ts'

let server: WebServer
let folder: string
/** The lines that were written. */
let written: string[] = []

beforeEach(() => void (written = []))
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dps-produce-'))
  server = await openWebServer(async (request, response) => {
    const stream = { id: `st_${'0'.repeat(26)}`, name: 'orders', schema: { id: 'string' } }
    if (request.url === '/v1/auth/token') return void response.end('{"access_token":"t","token_type":"Bearer","expires_in":3600}')
    if (request.url?.startsWith('/v1/streams?')) return void response.end(JSON.stringify({ streams: [stream] }))
    if (request.method === 'GET') return void response.end(JSON.stringify(stream))
    const body = await text(request)
    if (body.length > 1 << 20) {
      response.statusCode = 413
      return void response.end('{"error":{"code":"invalid_request","message":"the body is too large","status":413}}')
    }
    const lines = body.split('\n')
    written.push(...lines)
    response.end(JSON.stringify({ records: lines.length }))
  })
})
afterAll(async () => {
  await server.close()
  await rm(folder, { recursive: true, force: true })
})

/** Runs the command with a file of these bytes, or with them on standard input; without bytes, with what has that name. */
async function produce(bytes: string | Buffer | undefined, name?: string, ...args: string[]): Promise<{ exit: number; said: string }> {
  const stdin = new PassThrough()
  const file = name === undefined ? '-' : join(folder, name)
  if (name === undefined) stdin.end(bytes)
  else if (bytes !== undefined) await writeFile(file, bytes)
  const said: string[] = []
  const exit = await runProgram(['produce', 'orders', file, ...args], {
    env: { DPS_URL: server.url, DPS_API_KEY: 'k', DPS_API_SECRET: 's' },
    stdin,
    isTerminal: false,
    write: () => {},
    note: (each) => said.push(each),
    signal: new AbortController().signal,
  })
  return {
    exit,
    said: said
      .filter((each) => !each.startsWith('\r'))
      .join('\n')
      .replaceAll(`${folder}/`, ''),
  }
}

describe('dps produce', () => {
  it('a record that is too large is named by its line', async () => {
    const records = ['{"id":"1"}', '{"id":"2"}', JSON.stringify({ id: 'x'.repeat(2 << 20) }), '{"id":"4"}'].join('\n')
    const said = 'dps: the body is too large (2 records were written before)\n  large.ndjson:3: is too large for one request'
    expect(await produce(records, 'large.ndjson')).toEqual({ exit: 2, said })
    expect(written).toEqual(['{"id":"1"}', '{"id":"2"}'])
  })

  it('writes nothing of a file with a wrong line, and all of a pipe before it', async () => {
    const many = Array.from({ length: 12_000 }, (_, n) => `{"id":"${n}"}`)
    const wrong = [...many, 'no', ''].join('\n')
    const file = 'dps: many.ndjson: line 12001 is not JSON (0 records were written before)'
    expect(await produce(wrong, 'many.ndjson')).toEqual({ exit: 2, said: file })
    const csv = `id\n${'x\n'.repeat(12_000)}x,y\n`
    const cells = 'dps: many.csv: line 12002 has 2 cells, and the header 1 (0 records were written before)'
    expect(await produce(csv, 'many.csv')).toEqual({ exit: 2, said: cells })
    expect(written).toEqual([])
    expect((await produce(wrong)).said).toBe('dps: line 12001 is not JSON (12000 records were written before)')
    expect(written).toEqual(many)
  })

  it('says why a file can’t be read, in the form that is asked for', async () => {
    const message = `FOLDER can't be read: it is a folder (0 records were written before)`
    const ran = async (...args: string[]) => {
      const { exit, said } = await produce(undefined, '', ...args)
      return [exit, said.replaceAll(`${folder}`, 'FOLDER')]
    }
    expect(await ran()).toEqual([2, `dps: ${message}`])
    expect(await ran('-o', 'ndjson')).toEqual([2, JSON.stringify({ error: { code: 'usage', message } })])
    expect(await ran('-o', 'yaml')).toEqual([2, `error:\n  code: usage\n  message: "${message}"`])
  })

  it('refuses what is not UTF-8, with file and line, and writes nothing of it', async () => {
    const nothing = '(0 records were written before)'
    const csv = Buffer.from('id\nZürich\n', 'latin1')
    expect(await produce(csv, 'latin1.csv')).toEqual({ exit: 2, said: `dps: latin1.csv: line 2 is not UTF-8 ${nothing}` })
    expect(await produce(csv, undefined, '--format', 'csv')).toEqual({ exit: 2, said: `dps: line 2 is not UTF-8 ${nothing}` })
    const json = Buffer.from('{"id":"Zürich"}\n', 'latin1')
    expect(await produce(json, 'latin1.ndjson')).toEqual({ exit: 2, said: `dps: latin1.ndjson: line 1 is not UTF-8 ${nothing}` })
    expect(written).toEqual([])
    expect(await produce('id\nZürich\n', 'utf8.csv')).toEqual({ exit: 0, said: '' })
    expect(written).toEqual(['{"id":"Zürich"}'])
  })
})
