/** What `dps` says on a terminal while the service compiles and applies. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest'
import { during } from '../../clients/cli/src/progress.ts'
import { runProgram } from '../../clients/cli/src/program.ts'
import { createTerminal } from '../../clients/cli/src/terminal.ts'
import { openWebServer, type WebServer } from '../harness/web-server.ts'

const change = { kind: 'stream', action: 'create', effect: null, adopts: false, differences: [] }
const plan = {
  set: 'shop',
  hash: 'h'.repeat(64),
  changes: [
    { ...change, name: 'a' },
    { ...change, name: 'b' },
  ],
  unchanged: 0,
}
const ANSWERS: Record<string, object> = {
  '/v1/auth/token': { access_token: 't', token_type: 'Bearer', expires_in: 3600 },
  '/v1/smartmodules': { id: `sm_${'0'.repeat(26)}`, version: '1.0.0', modules: [], pagination: {} },
  '/v1/smartmodules/compile': { ok: true, details: [] },
  '/v1/smartmodules/test': { records: [] },
  '/v1/manifests/plan': plan,
  '/v1/manifests/apply': plan,
}
let server: WebServer
const folder = await mkdtemp(join(tmpdir(), 'dps-progress-'))
const [source, samples, manifest] = ['big-only.ts', 'samples.json', 'dps.yaml'].map((name) => join(folder, name)) as [
  string,
  string,
  string,
]
beforeAll(async () => {
  await writeFile(source, 'export function filter(): bool { return true }')
  await writeFile(samples, '[{"records":[],"out":[]}]')
  await writeFile(manifest, 'dps: 1\nset: shop\n')
  server = await openWebServer((request, response) => {
    request.resume()
    response.end(JSON.stringify(ANSWERS[new URL(request.url ?? '', 'http://dps').pathname] ?? {}))
  })
})
afterEach(() => void vi.useRealTimers())
afterAll(async () => {
  await server.close()
  await rm(folder, { recursive: true, force: true })
})

/** What the command writes to standard output, and to a standard error that is a terminal or is none. */
async function ran(args: string[], isTerminal = true): Promise<{ out: string; err: string }> {
  let [out, err] = ['', '']
  const { write, note } = createTerminal(
    (text) => (out += text),
    (text) => (err += text),
    isTerminal,
  )
  const env = { DPS_URL: server.url, DPS_API_KEY: 'k', DPS_API_SECRET: 's' }
  const io = { env, stdin: new PassThrough(), isTerminal, write, note, signal: new AbortController().signal }
  expect(await runProgram(args, io)).toBe(0)
  // On a busy machine it may take seconds.
  return { out, err: err.replaceAll('\u001b[K', '').replaceAll(/\r[^\r]* … \d+ s(?=\r)/g, '') }
}

it.each([
  [['compile', source], ['compiling big-only']],
  [['deploy', source], ['compiling big-only']],
  [['deploy', source, '--name', 'shop big'], ['compiling shop big']],
  [['test', source, '--samples', samples], ['testing big-only']],
  [['apply', manifest], [`applying ${manifest}`]],
  [
    ['apply', manifest, '--plan-hash', 'hhhhhhhh'],
    [`planning ${manifest}`, `applying 2 changes of ${manifest}`],
  ],
])('dps %j says what is being done, and nothing of it stays', async (args, doing) => {
  const { out, err } = await ran(args)
  const progress = doing.map((what) => `\r${what} …\r`).join('')
  // Without a terminal it is not said, and with JSON neither.
  const bare = await ran(args, false)
  expect({ out, err }).toEqual({ out: bare.out, err: progress + bare.err })
  expect((await ran([...args, '-o', 'json'])).err).toBe('')
})

it('is said with the seconds that the work takes', async () => {
  vi.useFakeTimers()
  const notes: string[] = []
  const work = Promise.withResolvers<number>()
  const done = during({ note: (text) => notes.push(text) }, 'compiling big-only', work.promise)
  await vi.advanceTimersByTimeAsync(2500)
  work.resolve(7)
  expect(await done).toBe(7)
  await vi.advanceTimersByTimeAsync(2500)
  expect(notes).toEqual(['\rcompiling big-only …', '\rcompiling big-only … 1 s', '\rcompiling big-only … 2 s', '\r'])
})

it('ends where the work fails, too', async () => {
  const notes: string[] = []
  await expect(during({ note: (text) => notes.push(text) }, 'compiling', Promise.reject(new Error('faulty')))).rejects.toThrow('faulty')
  expect(notes).toEqual(['\rcompiling …', '\r'])
})
