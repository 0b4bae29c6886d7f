/** `dps` as a process against the service: what it prints, what it exits with, and what it leaves in its files. */
import { mkdir, mkdtemp, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { loggedIn, service, unique } from '../harness/client.ts'
import { useDps } from '../harness/command-line.ts'

const client = await loggedIn(service().accounts.enterprise)
const { home, dps, json } = await useDps()

describe('dps', () => {
  it('remembers a profile in a file of its owner’s, and prefers the environment', async () => {
    const { apiUrl, accounts } = service()
    const { api_key, api_secret } = accounts.other
    const bare = { DPS_URL: '', DPS_API_KEY: '', DPS_API_SECRET: '', XDG_CONFIG_HOME: join(home, 'own') }
    expect(await dps(['list', 'streams'], { env: bare })).toMatchObject({ code: 2, err: expect.stringContaining('dps login') })
    const login = await dps(['login', apiUrl, '--key', api_key], { env: { ...bare, DPS_API_SECRET: api_secret } })
    expect(login).toMatchObject({ code: 0, err: expect.stringContaining('logged in') })
    const file = join(home, 'own', 'dps', 'profiles.json')
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    expect(await readFile(file, 'utf8')).toContain(api_secret)
    const { out } = await dps(['profile', 'list'], { env: bare })
    expect(out).toContain(api_key)
    expect(out).not.toContain(api_secret)
    expect((await dps(['list', 'pipelines', '-o', 'json'], { env: bare })).code).toBe(0)
    const wrong = await dps(['login', apiUrl, '--key', api_key, '-o', 'json'], { env: bare, stdin: 'nothing\n' })
    expect(wrong.code).toBe(2)
    expect(JSON.parse(wrong.err)).toMatchObject({ error: { status: 401 } })
    // Half of the environment must not lead to another place.
    expect(await dps(['list', 'streams'], { env: { ...bare, DPS_URL: apiUrl } })).toMatchObject({
      code: 2,
      err: expect.stringContaining('all are needed'),
    })
  })

  it('says what it was asked wrongly, and what the service refuses, by its exit code and as JSON', async () => {
    expect(await dps(['list', 'cats'])).toMatchObject({ code: 2, err: expect.stringContaining('there is no cats') })
    expect(JSON.parse((await dps(['get', 'stream', '-o', 'json'])).err)).toMatchObject({ error: { code: 'usage' } })
    expect((await dps(['read', 'x', '--limit', 'abc'])).err).toContain('must be a whole number')
    expect((await dps(['list', 'constructor'])).err).toContain('there is no constructor')
    expect(await dps(['frobnicate'])).toMatchObject({ code: 2, err: expect.stringContaining('unknown command') })
    const missing = await dps(['get', 'stream', `st_${'0'.repeat(26)}`, '-o', 'json'])
    expect(missing.code).toBe(2)
    expect(JSON.parse(missing.err)).toMatchObject({ error: { code: 'not_found', status: 404, request_id: expect.any(String) } })
    const away = await dps(['list', 'streams'], { env: { DPS_URL: 'http://127.0.0.1:1' } })
    expect(away).toMatchObject({ code: 3, err: expect.stringContaining('can’t reach'.replace('’', "'")) })
    expect(await dps(['--help'])).toMatchObject({ code: 0, out: expect.stringContaining('produce') })
  })

  it('plans, applies and exports a manifest with its sources and samples in files', async () => {
    const set = unique('cli set')
    const folder = await mkdtemp(join(home, 'set-'))
    const file = join(folder, 'set.yaml')
    const source = (least: number) =>
      `import { Record, Path } from 'dps'\nconst N = new Path('n')\nexport function filter(record: Record): bool { return record.integer(N) > ${least} }\n`
    const manifest = `dps: 1
set: ${set}
streams:
  ${set} in: { schema: { n: integer } }
  ${set} out: { schema: { n: integer } }
smartmodules:
  ${set} big: { source: ./big.ts, tests: ./samples }
pipelines:
  ${set} flow:
    source: { stream: ${set} in }
    steps: [ { module: ${set} big } ]
    sink: { stream: ${set} out }
`
    await writeFile(file, manifest)
    await writeFile(join(folder, 'big.ts'), source(10))
    await mkdir(join(folder, 'samples'))
    await writeFile(
      join(folder, 'samples', 'one.json'),
      JSON.stringify({ records: [{ value: { n: 5 } }, { value: { n: 50 } }], out: [{ n: 50 }] }),
    )
    const planned = await dps(['diff', file])
    expect([planned.code, planned.out.match(/create/g)?.length]).toEqual([1, 4])
    const hash = /hash is (\w+)/.exec(planned.err)![1]!
    const errorOf = async (args: string[]) => (JSON.parse((await dps(args)).err) as { error: object }).error
    const inLines = await errorOf(['diff', file, '-o', 'ndjson'])
    expect(inLines).toEqual({ code: 'differs', message: expect.stringContaining(`; the plan’s hash is ${hash}`) })
    const stale = await errorOf(['apply', file, '--plan-hash', 'anotherone', '-o', 'json'])
    expect(stale).toMatchObject({ code: 'conflict', status: 409 })
    expect(await dps(['apply', file, '--plan-hash', 'anotherone'])).toMatchObject({
      code: 2,
      err: expect.stringContaining(`it is now ${hash}): the manifest or a flag`),
    })
    expect((await dps(['apply', file, '--plan-hash', hash.slice(0, 7)])).err).toContain('at least 8 characters')
    expect(await dps(['apply', file, '--plan-hash', hash.slice(0, 8)])).toMatchObject({
      code: 0,
      err: expect.stringContaining('4 changes made'),
    })
    expect(await dps(['diff', file])).toMatchObject({ code: 0, err: expect.stringContaining('nothing to do'), out: '' })

    await writeFile(join(folder, 'big.ts'), source(100))
    const failing = await dps(['apply', file])
    expect(failing).toMatchObject({ code: 2, err: expect.stringContaining('/tests/0/out') })
    await writeFile(join(folder, 'big.ts'), source(20))
    const changed = await dps(['diff', file, '-o', 'json'])
    const { changes } = json<{ hash: string; changes: { name: string; action: string }[] }>(changed)
    expect(changes.map(({ name, action }) => [name, action])).toEqual([
      [`${set} big`, 'update'],
      [`${set} flow`, 'update'],
    ])
    expect((await dps(['apply', file])).code).toBe(0)

    const exported = await dps(['export', set])
    await writeFile(join(folder, 'exported.yaml'), exported.out)
    expect(await dps(['diff', join(folder, 'exported.yaml')])).toMatchObject({ code: 0, err: expect.stringContaining('4 unchanged') })
    expect(json(await dps(['export', set, '-o', 'ndjson']))).toMatchObject({ set })
    const fields = Array.from({ length: 9 }, (_, at) => `a_long_name_${at}: string?`).join(', ')
    await writeFile(file, manifest.replace('{ n: integer }', `{ n: integer, ${fields} }`))
    expect((await dps(['diff', file])).out).toContain('/schema/a_long_name_8:  → "string?"')
    await writeFile(file, `dps: 1\nset: ${set}\n`)
    expect(await dps(['apply', file, '--prune'])).toMatchObject({ code: 0, err: expect.stringContaining('4 changes made') })
    expect(await dps(['export', set])).toMatchObject({ code: 2, err: expect.stringContaining('does not exist') })
    // Every digit reaches the service, which refuses what it can't hold.
    await writeFile(file, `dps: 1\nset: ${set}\nstreams: { a: { schema: { n: integer }, retention_ms: 9007199254740993 } }\n`)
    expect(await dps(['diff', file])).toMatchObject({ code: 2, err: expect.stringContaining('lose digits') })
    // What is wrong is named by its place in the file, a SmartModule's file that is missing too.
    const wrong = 'streams:\n  a:\n    schema: { n: integer }\n    partitions: many\n    kye: n\n'
    await writeFile(file, `dps: 1\nset: ${set}\n${wrong}`)
    const places = await dps(['diff', file])
    expect(places.err).toContain(`${file}:6:17: /streams/a/partitions: must be a number, not a string`)
    expect(places.err).toMatch(/yaml:5:5: \/streams\/a(\/kye)?: .*kye|yaml:7:10: \/streams\/a\/kye/)
    await writeFile(file, `dps: 1\nset: ${set}\nsmartmodules:\n  m:\n    source: ./missing.ts\n`)
    expect((await dps(['diff', file])).err).toContain(`${file}:5:13: /smartmodules/m/source: ${join(folder, 'missing.ts')} can't be read`)
    await writeFile(file, `dps: 1\nset: ${set}\nstreams: { a: &a { schema: { n: integer }, key: *a } }\n`)
    expect(await dps(['diff', file])).toMatchObject({ code: 2, err: expect.stringContaining('line 3: *a stands within &a') })
    await writeFile(file, 'dps: 1\nset: [')
    expect(await dps(['diff', file])).toMatchObject({ code: 2, err: expect.stringContaining('line 2') })
  })

  it('prints tables, JSON, YAML and lines of JSON', async () => {
    const name = unique('shown')
    const { body } = await client.call<{ id: string }>('POST', '/v1/streams', { name, description: '', schema: { n: 'integer' } })
    expect((await dps(['list', 'streams'])).out).toMatch(new RegExp(`^NAME +ID +STATUS +CREATED_AT\n(.*\n)*${name} +${body.id} +active`))
    expect(json<{ id: string }>(await dps(['get', 'stream', name, '-o', 'json'])).id).toBe(body.id)
    expect((await dps(['get', 'streams', body.id, '-o', 'yaml'])).out).toContain(`id: ${body.id}\n`)
    const lines = (await dps(['list', 'stream', '-o', 'ndjson'])).out.trim().split('\n')
    expect(lines.map((line) => (JSON.parse(line) as { name: string }).name)).toContain(name)
    expect(await dps(['delete', 'stream', name])).toMatchObject({ code: 0, err: expect.stringContaining('deleted') })
    expect((await dps(['get', 'stream', name])).code).toBe(2)
  })

  it('shows the account’s things of every kind: keys, members, use, and who changed what', async () => {
    const name = unique('described')
    const email = `${unique('member').toLowerCase()}@example.com`
    const { body: stream } = await client.call<{ id: string }>('POST', '/v1/streams', { name, description: '', schema: { n: 'integer' } })
    const { body: key } = await client.call<{ id: string }>('POST', '/v1/keys', { name, scopes: ['streams:read'] })
    await client.call('POST', '/v1/members', { name, email, role: 'viewer' })
    expect(json(await dps(['get', 'key', name, '-o', 'json']))).toMatchObject({ id: key.id, scopes: ['streams:read'] })
    expect(json(await dps(['describe', 'key', key.id, '-o', 'json']))).toMatchObject({ name })
    expect(await dps(['get', 'key', 'none'])).toMatchObject({ code: 2, err: 'dps: there is no key none\n' })
    expect((await dps(['list', 'members'])).out).toMatch(new RegExp(`${name} +${email} +viewer`))
    expect(json(await dps(['get', 'member', email, '-o', 'json']))).toMatchObject({ name, role: 'viewer' })
    await client.call('POST', '/v1/members', { name, email: `second-${email}`, role: 'viewer' })
    expect(await dps(['delete', 'member', name])).toMatchObject({ code: 2, err: expect.stringContaining('2 members named') })
    expect((await dps(['delete', 'member', email.toUpperCase()])).code).toBe(0)
    expect((await dps(['delete', 'member', name])).code).toBe(0)
    expect((await dps(['get', 'member', email])).code).toBe(2)
    expect((await dps(['delete', 'key', name])).code).toBe(0)

    expect((await dps(['account'])).out).toMatch(/QUOTA +USED +LIMIT\n(.*\n)*streams +\d+ +\d+/)
    expect(json(await dps(['account', '-o', 'json']))).toMatchObject({
      type: 'enterprise',
      quotas: { streams: { limit: expect.any(Number) } },
    })
    expect((await dps(['audit', '--of', stream.id])).out).toContain(`${name} (${stream.id})`)
    expect(await dps(['audit', '--operation', 'createNothing'])).toMatchObject({
      code: 0,
      out: '',
      err: expect.stringContaining('like that'),
    })
    expect((await dps(['describe', name])).err).toContain(`dps describe stream "${name}"`)
    expect(json(await dps(['audit', '--of', stream.id, '-o', 'json']))).toMatchObject([{ operation: 'createStream', status: 201 }])
    expect(json<object[]>(await dps(['audit', '--last', '2', '-o', 'json']))).toHaveLength(2)
    expect((await dps(['audit', '--operation', 'deleteMember', '--last', '1'])).out).toMatch(/^AT +ACTOR +OPERATION(.*\n)+.*deleteMember/)
    expect(json(await dps(['describe', 'stream', name, '-o', 'json']))).toMatchObject({
      id: stream.id,
      records: 0,
      written_by: [],
      read_by: [],
    })
  })
})
