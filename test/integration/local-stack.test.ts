/** `make run` on machines that lack something: an engine that can't pull, one that hangs, no Go; and restarts on kept data. */
import { execFile } from 'node:child_process'
import { mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { existsSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { findJava } from '../../deploy/local/java.ts'
import { makeRun, type MakeRun } from '../harness/make-run.ts'
import { childrenOf, hasEnded } from '../harness/child-processes.ts'
import { eventually } from '../harness/client.ts'
import { openWebServer, type WebServer } from '../harness/web-server.ts'

const OPERATOR_SCRIPT = join(import.meta.dirname, '..', '..', 'deploy', 'local', 'operator-script.ts')
const PARTS = ['kafka', 'postgres', 'redis', 'registry', 'bucket']
let folder: string
let run: MakeRun | undefined

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dps-run-'))
})
afterEach(async () => {
  await run?.end()
  run = undefined
  await rm(folder, { recursive: true, force: true })
})

/** A container engine that identifies itself but has no images; with `hangs` it leaves all other requests unanswered. */
function openEngine(hangs: boolean): Promise<WebServer> {
  return openWebServer((request, response) => {
    const path = request.url!.replace(/^\/v[\d.]+/, '')
    const answer = (status: number, body: unknown) => {
      response.writeHead(status, { 'content-type': 'application/json' })
      response.end(JSON.stringify(body))
    }
    if (path === '/_ping') return answer(200, 'OK')
    if (path === '/version') return answer(200, { Version: '27.0.0', ApiVersion: '1.46' })
    if (path === '/info') return answer(200, { ServerVersion: '27.0.0', OperatingSystem: 'nowhere', OSType: 'linux', Labels: [] })
    if (!hangs) answer(404, { message: 'no such image, and no network to pull it from' })
  })
}

describe('make run', () => {
  it.each([
    ['can’t pull an image', false],
    ['hangs', true],
  ])('falls back to local processes, and says so for each part, when the engine %s', async (_, hangs) => {
    const engine = await openEngine(hangs)
    try {
      run = makeRun(folder, { DOCKER_HOST: `tcp://127.0.0.1:${engine.port}`, TESTCONTAINERS_RYUK_DISABLED: 'true', TOUR: '0' })
      await run.serving()
      for (const part of PARTS) {
        expect(run.output()).toMatch(new RegExp(`${part}: the container did not start \\(.+\\); starting a local process instead`))
        expect(run.output()).toContain(`${part}: a local process\n`)
      }
    } finally {
      await engine.close()
    }
  })

  it('uses a folder as the bucket and says so when Go is missing, and completes the tour', async () => {
    // A PATH without Go, and a cache that has the real one's downloads but no built bucket server.
    const { cacheFolder } = await import('../../deploy/local/cache.ts')
    const { mkdir, readdir } = await import('node:fs/promises')
    const cache = join(folder, 'cache')
    await mkdir(cache)
    for (const name of await readdir(cacheFolder()))
      if (!name.startsWith('versitygw') && !name.startsWith('.')) await symlink(join(cacheFolder(), name), join(cache, name))
    const path = process.env.PATH!.split(delimiter).filter((each) => !existsSync(join(each, 'go')))
    run = makeRun(join(folder, 'local'), {
      DOCKER_HOST: 'tcp://127.0.0.1:1',
      DPS_CACHE: cache,
      PATH: [...path, dirname(await findJava(21))].join(delimiter),
    })
    await run.serving()
    expect(run.output()).toMatch(/bucket: using a local folder \(file:\/\/\/\).*Go is not on the PATH/)
    expect(run.output()).toMatch(/exact +12,277 distinct lines/)
    expect(run.stackFile().bucket.name).toMatch(/^file:\/\/\//)
  })

  it('serves the same account and records after it was killed, and a new account with FRESH=1', async () => {
    const env = { DOCKER_HOST: 'tcp://127.0.0.1:1', TOUR: '0' }
    run = makeRun(folder, env)
    await run.serving()
    const { api_url, api_key, api_secret, account_id } = run.stackFile()
    const stream = await createStream(api_url, { api_key, api_secret })
    // An operator's scripts take its settings.
    const { DATABASE_URL: _other, ...bare } = process.env
    const { stdout, stderr } = await promisify(execFile)(process.execPath, ['--no-warnings', OPERATOR_SCRIPT, 'sign-in-link.ts'], {
      env: { ...bare, LOCAL_FOLDER: folder },
    })
    expect(JSON.parse(stdout)).toMatchObject({ account_id, role: 'owner', path: expect.stringContaining('/console/#link=') })
    expect(stderr).toContain(api_url)
    const children = childrenOf(run.stackFile().pids.launcher)
    expect(children.length).toBeGreaterThan(0)
    await run.end('SIGKILL')
    await eventually('its reaper has ended the children, and itself', async () => children.every(hasEnded))

    run = makeRun(folder, env)
    await run.serving()
    const again = run.stackFile()
    expect(again.account_id).toBe(account_id)
    expect(await recordsOf(again.api_url, { api_key, api_secret }, stream)).toEqual([{ id: 'a' }, { id: 'b' }])
    expect(await run.end()).toBe(0)

    run = makeRun(folder, { ...env, FRESH: '1' })
    await run.serving()
    expect(run.stackFile().account_id).not.toBe(account_id)
  })
})

type Key = { api_key: string; api_secret: string }

async function call<T>(url: string, token: string | undefined, body?: unknown): Promise<T> {
  const answer = await fetch(url, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { 'content-type': 'application/json', ...(token ? { authorization: `Bearer ${token}` } : {}) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${url}: ${answer.status} ${text}`)
  return JSON.parse(text) as T
}
const tokenOf = async (api: string, key: Key) => (await call<{ access_token: string }>(`${api}/v1/auth/token`, undefined, key)).access_token

async function createStream(api: string, key: Key): Promise<string> {
  const token = await tokenOf(api, key)
  const { id } = await call<{ id: string }>(`${api}/v1/streams`, token, { name: 'kept', schema: { id: 'string' }, partitions: 1 })
  await call(`${api}/v1/streams/${id}/data`, token, { records: [{ id: 'a' }, { id: 'b' }] })
  return id
}

async function recordsOf(api: string, key: Key, stream: string): Promise<unknown[]> {
  return (await call<{ data: unknown[] }>(`${api}/v1/streams/${stream}/data`, await tokenOf(api, key))).data
}
