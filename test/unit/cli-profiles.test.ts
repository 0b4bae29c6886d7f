/** `dps login`: which profile it writes. */
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { expect, it } from 'vitest'
import { readProfiles } from '../../clients/cli/src/profiles.ts'
import { runProgram } from '../../clients/cli/src/program.ts'

it('dps login writes the profile of --name, else of --profile, else default, and no other', async () => {
  const server = createServer((request, response) =>
    response.end(request.url === '/v1/auth/token' ? '{"access_token":"t","token_type":"Bearer","expires_in":3600}' : '{"name":"Shop"}'),
  )
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const folder = await mkdtemp(join(tmpdir(), 'dps-login-'))
  try {
    const env = { XDG_CONFIG_HOME: folder, DPS_API_SECRET: 's' }
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const login = async (key: string, ...args: string[]) => {
      const io = { env, stdin: new PassThrough(), isTerminal: false, write: () => {}, note: () => {}, signal: new AbortController().signal }
      expect(await runProgram(['login', url, '--key', key, ...args], io)).toBe(0)
      const { current, profiles } = readProfiles(env)
      return { current, keys: Object.fromEntries(Object.entries(profiles).map(([name, { api_key }]) => [name, api_key])) }
    }
    expect(await login('a')).toEqual({ current: 'default', keys: { default: 'a' } })
    expect(await login('b', '--profile', 'staging')).toEqual({ current: 'staging', keys: { default: 'a', staging: 'b' } })
    expect(await login('c', '--profile', 'staging', '--name', 'test')).toEqual({
      current: 'test',
      keys: { default: 'a', staging: 'b', test: 'c' },
    })
    expect(await login('d')).toMatchObject({ current: 'default', keys: { default: 'd', staging: 'b' } })
  } finally {
    server.closeAllConnections()
    server.close()
    await rm(folder, { recursive: true, force: true })
  }
})

it('dps login is told soon that a service does not answer', async () => {
  let asked = 0
  const server = createServer((_request, response) => {
    asked++
    response.writeHead(503).end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  try {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const env = { DPS_API_SECRET: 's' }
    const io = { env, stdin: new PassThrough(), isTerminal: false, write: () => {}, note: () => {}, signal: new AbortController().signal }
    expect(await runProgram(['login', url, '--key', 'k'], io)).toBe(3)
    expect(asked).toBe(3)
  } finally {
    server.closeAllConnections()
    server.close()
  }
})
