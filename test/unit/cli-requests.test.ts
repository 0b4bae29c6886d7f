/** How long `dps` waits for the service. */
import { spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { runProgram } from '../../clients/cli/src/program.ts'
import { openWebServer } from '../harness/web-server.ts'

afterEach(() => void vi.useRealTimers())

/** Lets time pass until the work has ended, as fetch counts it: in steps of half a second, between which sockets are read. */
async function pass(seconds: number, isDone: () => boolean): Promise<void> {
  for (let passed = 0; passed < seconds * 2 && !isDone(); passed++) {
    await vi.advanceTimersByTimeAsync(500)
    await new Promise((resolve) => setImmediate(resolve))
  }
}

describe('dps apply', () => {
  it('waits longer than the five minutes that fetch of Node gives an answer', async () => {
    let answer = () => {}
    let asked = 0
    const server = await openWebServer((request, response) => {
      if (request.url === '/v1/auth/token') return void response.end('{"access_token":"t","token_type":"Bearer","expires_in":36000}')
      asked++
      answer = () => void response.end('{"set":"shop","changes":[],"unchanged":3,"hash":"h"}')
    })
    const folder = await mkdtemp(join(tmpdir(), 'dps-apply-'))
    try {
      const file = join(folder, 'dps.yaml')
      await writeFile(file, 'set: shop\n')
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] })
      const notes: string[] = []
      let exit: number | undefined
      const done = runProgram(['apply', file], {
        env: { DPS_URL: server.url, DPS_API_KEY: 'k', DPS_API_SECRET: 's' },
        stdin: new PassThrough(),
        isTerminal: false,
        write: () => {},
        // Without its progress, as where there is no terminal.
        note: (text) => void (text.startsWith('\r') || notes.push(text)),
        signal: new AbortController().signal,
      }).then((code) => (exit = code))
      while (asked === 0) await new Promise((resolve) => setImmediate(resolve))
      await pass(1200, () => exit !== undefined)
      answer()
      await done
      expect(notes).toEqual(['nothing to do: 3 unchanged'])
      expect(exit).toBe(0)
      expect(asked).toBe(1)
    } finally {
      await server.close()
      await rm(folder, { recursive: true, force: true })
    }
  })
})

describe('a command that needs a process of the service', () => {
  const commands = [
    ['compile', 'SOURCE'],
    ['try', 'SOURCE', '--stream', `st_${'0'.repeat(26)}`],
    ['test', 'SOURCE', '--samples', 'SAMPLES'],
    ['deploy', 'SOURCE'],
    ['explain', `pl_${'0'.repeat(26)}`, '0:0'],
    ['preview', `pl_${'0'.repeat(26)}`],
  ]
  it.each(commands)('waits until the service gives up by itself: dps %s', async (...command) => {
    const server = await openWebServer((request, response) => {
      if (request.url === '/v1/auth/token') return void response.end('{"access_token":"t","token_type":"Bearer","expires_in":36000}')
      response.end('{"ok":true,"details":[],"records":[],"steps":[],"modules":[],"redrives":[],"input":{}}')
    })
    const folder = await mkdtemp(join(tmpdir(), 'dps-wait-'))
    const timeouts = vi.spyOn(AbortSignal, 'timeout')
    try {
      const [source, samples] = [join(folder, 'a.ts'), join(folder, 'a.json')]
      await writeFile(source, 'export function filter(): bool { return true }')
      await writeFile(samples, '[{"records":[],"out":[]}]')
      const args = command.map((word) => (word === 'SOURCE' ? source : word === 'SAMPLES' ? samples : word))
      const exit = await runProgram(args, {
        env: { DPS_URL: server.url, DPS_API_KEY: 'k', DPS_API_SECRET: 's' },
        stdin: new PassThrough(),
        isTerminal: false,
        write: () => {},
        note: () => {},
        signal: new AbortController().signal,
      })
      expect(exit).toBe(0)
      expect(timeouts.mock.calls.at(-1)).toEqual([180_000])
    } finally {
      timeouts.mockRestore()
      await server.close()
      await rm(folder, { recursive: true, force: true })
    }
  })
})

describe('dps mcp', () => {
  it('applies with replace, waits for it as long as dps apply does, and for other answers 30 seconds', async () => {
    const scopes = ['pipelines:write', 'streams:write', 'smartmodules:write']
    let end = () => {}
    let applied: unknown
    const server = await openWebServer(async (request, response) => {
      if (request.url === '/v1/auth/token') return void response.end('{"access_token":"t","token_type":"Bearer","expires_in":36000}')
      // What was asked is still answered.
      if (request.url === '/v1/manifests/apply') {
        applied = JSON.parse(await text(request))
        end()
      }
      response.end(JSON.stringify(request.url === '/v1/session' ? { scopes } : { set: 'shop', changes: [], unchanged: 3, hash: 'h' }))
    })
    try {
      // Its timeouts are said on standard error, because half an hour is too long for a test.
      const said = 'const own = AbortSignal.timeout; AbortSignal.timeout = (ms) => (console.error(ms), own.call(AbortSignal, ms))'
      const main = join(import.meta.dirname, '..', '..', 'clients', 'cli', 'src', 'main.ts')
      const child = spawn(process.execPath, ['--no-warnings', `--import=data:text/javascript,${said}`, main, 'mcp', '--write'], {
        env: { DPS_URL: server.url, DPS_API_KEY: 'k', DPS_API_SECRET: 's' },
      })
      const [out, timeouts] = [text(child.stdout), text(child.stderr)]
      const version = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } }
      const lines = [
        { id: 1, method: 'initialize', params: version },
        { method: 'notifications/initialized' },
        { id: 2, method: 'tools/call', params: { name: 'apply', arguments: { manifest: 'set: shop', hash: 'h', replace: ['orders'] } } },
      ]
      end = () => child.stdin.end()
      child.stdin.write(lines.map((line) => `${JSON.stringify({ jsonrpc: '2.0', ...line })}\n`).join(''))
      expect(await out).toContain('unchanged')
      const asked = (await timeouts).trim().split('\n').map(Number)
      expect(asked[0]).toBe(30_000)
      expect(asked.at(-1)).toBe(30 * 60_000)
      expect(applied).toEqual({ manifest: { set: 'shop' }, hash: 'h', prune: false, replace: ['orders'] })
    } finally {
      await server.close()
    }
  })
})
