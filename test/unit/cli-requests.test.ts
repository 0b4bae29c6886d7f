/** How long `dps` waits for the service. */
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { runProgram } from '../../clients/cli/src/program.ts'

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
    const server = createServer((request, response) => {
      if (request.url === '/v1/auth/token') return void response.end('{"access_token":"t","token_type":"Bearer","expires_in":36000}')
      asked++
      answer = () => void response.end('{"set":"shop","changes":[],"unchanged":3,"hash":"h"}')
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const folder = await mkdtemp(join(tmpdir(), 'dps-apply-'))
    try {
      const file = join(folder, 'dps.yaml')
      await writeFile(file, 'set: shop\n')
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] })
      const notes: string[] = []
      let exit: number | undefined
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
      const done = runProgram(['apply', file], {
        env: { DPS_URL: url, DPS_API_KEY: 'k', DPS_API_SECRET: 's' },
        stdin: new PassThrough(),
        isTerminal: false,
        write: () => {},
        note: (text) => notes.push(text),
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
      server.closeAllConnections()
      server.close()
      await rm(folder, { recursive: true, force: true })
    }
  })
})
