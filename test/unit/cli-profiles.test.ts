/** `dps login`: which profile it writes, and how it takes the secret. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { expect, it } from 'vitest'
import { readProfiles } from '../../clients/cli/src/profiles.ts'
import { Interrupted } from '../../clients/cli/src/outcome.ts'
import { runProgram } from '../../clients/cli/src/program.ts'
import { secretFrom } from '../../clients/cli/src/secret-input.ts'
import { openWebServer } from '../harness/web-server.ts'

it('dps login writes the profile of --name, else of --profile, else default, and no other', async () => {
  const server = await openWebServer((request, response) =>
    response.end(request.url === '/v1/auth/token' ? '{"access_token":"t","token_type":"Bearer","expires_in":3600}' : '{"name":"Shop"}'),
  )
  const folder = await mkdtemp(join(tmpdir(), 'dps-login-'))
  try {
    const env = { XDG_CONFIG_HOME: folder, DPS_API_SECRET: 's' }
    const login = async (key: string, ...args: string[]) => {
      const io = { env, stdin: new PassThrough(), isTerminal: false, write: () => {}, note: () => {}, signal: new AbortController().signal }
      expect(await runProgram(['login', server.url, '--key', key, ...args], io)).toBe(0)
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
    await server.close()
    await rm(folder, { recursive: true, force: true })
  }
})

it('dps login is told soon that a service does not answer', async () => {
  let asked = 0
  const server = await openWebServer((_request, response) => {
    asked++
    response.writeHead(503).end()
  })
  try {
    const env = { DPS_API_SECRET: 's' }
    const io = { env, stdin: new PassThrough(), isTerminal: false, write: () => {}, note: () => {}, signal: new AbortController().signal }
    expect(await runProgram(['login', server.url, '--key', 'k'], io)).toBe(3)
    expect(asked).toBe(3)
  } finally {
    await server.close()
  }
})

/** A terminal that says whether it shows what is typed. */
const terminal = () => {
  const modes: boolean[] = []
  return { modes, stdin: Object.assign(new PassThrough(), { setRawMode: (isRaw: boolean) => modes.push(isRaw) }) }
}

it('refuses a secret of standard input that is not UTF-8, whose letters would be lost', async () => {
  const { signal } = new AbortController()
  const given = async (bytes: Buffer) => {
    const stdin = new PassThrough()
    stdin.end(bytes)
    return secretFrom({ env: {}, stdin, isTerminal: false, write: () => {}, note: () => {}, signal }, 'the value of warehouse')
  }
  expect(await given(Buffer.from('\uFEFFpäss\n'))).toBe('päss\n')
  await expect(given(Buffer.from('päss\n', 'latin1'))).rejects.toThrow('the value of warehouse is not UTF-8')
})

it('takes a secret at a terminal without showing it, and leaves the terminal as it was', async () => {
  const { signal } = new AbortController()
  const typed = async (keys: string[], more: { isOneLine?: boolean; isEnded?: boolean } = {}) => {
    const { modes, stdin } = terminal()
    const said: string[] = []
    const io = { env: {}, stdin, isTerminal: true, write: () => {}, note: () => {}, prompt: (text: string) => said.push(text), signal }
    const read = secretFrom(io, 'the secret of k', more)
    for (const each of keys) stdin.write(each)
    if (more.isEnded) stdin.end()
    const found = await read.catch((error: unknown) => error)
    expect(modes).toEqual([true, false])
    return [found, said.join()]
  }
  expect(await typed(['pä', 'ß\u007fs', '\r'], { isOneLine: true })).toEqual([
    'päs',
    'the secret of k, which is not shown, and then Enter:',
  ])
  expect(await typed(['line 1\rline 2\r\u0004'])).toEqual(['line 1\nline 2\n', 'the secret of k, which is not shown, and then Ctrl-D:'])
  expect((await typed(['abc'], { isEnded: true }))[0]).toBe('abc')
  expect((await typed(['abc\u0003']))[0]).toBeInstanceOf(Interrupted)
})

it('dps login -o json asks for the secret all the same, and ends with Ctrl-C', async () => {
  const { modes, stdin } = terminal()
  const said: string[] = []
  const { signal } = new AbortController()
  const io = { env: {}, stdin, isTerminal: true, write: () => {}, note: (text: string) => said.push(text), signal }
  const ended = runProgram(['login', 'http://127.0.0.1:2', '--key', 'k', '-o', 'json'], io)
  stdin.write('abc\u0003')
  expect(await ended).toBe(130)
  expect(said).toEqual(['the secret of k, which is not shown, and then Enter:'])
  expect(modes).toEqual([true, false])
})
