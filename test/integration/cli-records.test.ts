/** `dps` as a process, with SmartModules and records: what it tries, writes, reads, redrives and goes on with. */
import { once } from 'node:events'
import { rename, writeFile } from 'node:fs/promises'
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { eventually, loggedIn, service, unique } from '../harness/client.ts'
import { useDps } from '../harness/command-line.ts'
import { createPipeline, createStream, waitForStatus, waitForTotal, write, type NewStream } from '../harness/pipelines.ts'

const client = await loggedIn(service().accounts.enterprise)
const { home, start, dps, json } = await useDps()

const CODE = (least: string) => `import { Path, Record } from 'dps'
const n = new Path('n')
export function filter(record: Record): bool {
  if (record.integer(n) == 13) record.fail('thirteen')
  return record.integer(n) >= ${least}
}
`

describe('dps with records', () => {
  let from: NewStream & { name?: string }
  let to: NewStream
  let pipeline: string
  const module = unique('least')

  it('compiles, tries and deploys a SmartModule, and fails where something is wrong', async () => {
    ;[from, to] = [
      await createStream(client, { n: 'integer' }, { partitions: 1 }),
      await createStream(client, { n: 'integer' }, { partitions: 1 }),
    ]
    await writeFile(join(home, 'wrong.ts'), CODE('lest'))
    const wrong = await dps(['compile', 'wrong.ts'])
    expect(wrong).toMatchObject({ code: 1, out: expect.stringContaining('wrong.ts:5:31') })
    await writeFile(join(home, 'least.ts'), CODE('10'))
    await writeFile(join(home, 'records.ndjson'), '{"n":9}\n{"n":10}\n\n{"n":13}\n')
    const tried = await dps(['try', 'least.ts', '--records', 'records.ndjson'])
    expect(tried).toMatchObject({ code: 1, err: expect.stringContaining('1 of 3 records failed') })
    expect(tried.out).toMatch(/filtered +{"n":9}/)
    expect(tried.out).toMatch(/delivered +{"n":10} +{"n":10}/)
    await writeFile(join(home, 'samples.json'), '[{"records":[{"value":{"n":9}}],"out":[{"n":9}]}]')
    expect((await dps(['deploy', 'least.ts', '--name', module, '--samples', 'samples.json'])).code).toBe(2)
    await writeFile(join(home, 'samples.json'), '[{"records":[{"value":{"n":9}},{"value":{"n":12}}],"out":[{"n":12}]}]')
    const deployed = await dps(['deploy', 'least.ts', '--name', module, '--samples', 'samples.json', '-o', 'json'])
    expect(json(deployed)).toMatchObject({ name: module, version: '1.0.0' })
  })

  it('runs samples without deploying, and says what comes out differently', async () => {
    const right = await dps(['test', 'least.ts', '--samples', 'samples.json'])
    expect(right).toMatchObject({ code: 0, err: expect.stringContaining('1 sample passes') })
    const samples = [{ title: 'both', records: [{ value: { n: 9 } }, { value: { n: 13 } }], out: [{ n: 9 }], failures: ['thirteen'] }]
    await writeFile(join(home, 'wrong.json'), JSON.stringify(samples))
    const wrong = await dps(['test', 'least.ts', '--samples', 'wrong.json', '-o', 'json'])
    expect([wrong.code, json(wrong)]).toEqual([1, [{ sample: 'both', what: 'out', expected: '{"n":9}', made: 'nothing' }]])
  })

  it('runs a source again whenever it is saved, shows what changed, and deploys it', async () => {
    const dev = start(['dev', 'least.ts', '--records', 'records.ndjson', '--name', module], { isTyped: true })
    const notes = (text: string) => eventually(`it says: ${text}`, async () => dev.so().err.includes(text))
    const saved = (code: string, text: string) => {
      const before = dev.so().err.split(text).length
      // Again and again: the file may not be watched yet.
      return eventually(`it says: ${text}`, async () => {
        await writeFile(join(home, 'new.ts'), code)
        await rename(join(home, 'new.ts'), join(home, 'least.ts'))
        return dev.so().err.split(text).length > before
      })
    }
    await notes('3 records, 0 not as in version 1.0.0')
    await saved(CODE('5'), '3 records, 1 not as in the run before')
    expect(dev.so().out).toMatch(/^\S+  dropped  →  {"n":9}\n$/)
    await saved(CODE('lest'), 'least.ts:5:31')
    await saved(CODE('10'), '3 records, 1 not as in the run before')
    dev.type('d')
    await notes(`${module} 1.0.1 is deployed`)
    dev.type('q')
    expect((await dev.ended).code).toBe(0)
    const interrupted = start(['dev', 'least.ts', '--records', 'records.ndjson'], { isTyped: true })
    await eventually('it has run', async () => interrupted.so().err.includes('3 records'))
    interrupted.interrupt()
    expect((await interrupted.ended).code).toBe(130)
    // A terminal in raw mode sends the key instead of the signal.
    const typed = start(['dev', 'least.ts', '--records', 'records.ndjson'], { isTyped: true })
    await eventually('it has run', async () => typed.so().err.includes('3 records'))
    typed.type('\u0003')
    expect((await typed.ended).code).toBe(130)
  })

  it('tries and deploys a binary as it does a source', async () => {
    const deployed = json<{ id: string }>(await dps(['get', 'smartmodule', module, '-o', 'json']))
    const { body } = await client.call<{ wasm_binary: string }>('GET', `/v1/smartmodules/${deployed.id}/versions/1.0.0?binary=true`)
    await writeFile(join(home, 'binary.wasm'), Buffer.from(body.wasm_binary, 'base64'))
    expect((await dps(['try', 'binary.wasm', '--records', 'records.ndjson'])).out).toMatch(/delivered +{"n":10} +{"n":10}/)
    const name = unique('binary')
    expect(json(await dps(['deploy', 'binary.wasm', '--name', name, '-o', 'json']))).toMatchObject({ name, version: '1.0.0' })
    expect(await dps(['compile', 'binary.wasm'])).toMatchObject({ code: 2, err: expect.stringContaining('is compiled already') })
  })

  it('shows what a source logs beside what it makes', async () => {
    const code = `import { Record, log } from 'dps'\nexport function filter(record: Record): bool {\n  log('seen', 'warn')\n  return true\n}\n`
    await writeFile(join(home, 'says.ts'), code)
    expect((await dps(['try', 'says.ts', '--records', 'records.ndjson'])).out).toMatch(/LOG\n0:0 .* (warn )?seen\n/)
  })

  it('begins a project that applies, tests and runs as it is', async () => {
    const name = unique('project')
      .replaceAll(/[^a-z0-9]+/gi, '-')
      .toLowerCase()
    expect(await dps(['init', name])).toMatchObject({ code: 0, out: expect.stringContaining(`${name}/dps.yaml`) })
    expect(await dps(['init', name])).toMatchObject({ code: 2, err: expect.stringContaining('exists already') })
    const at = (file: string) => join(home, name, file)
    expect((await dps(['test', at('big-only.ts'), '--samples', at('samples')])).code).toBe(0)
    expect((await dps(['try', at('big-only.ts'), '--records', at('orders.ndjson')])).code).toBe(0)
    expect(await dps(['apply', at('dps.yaml')])).toMatchObject({ code: 0, err: expect.stringContaining('4 changes made') })
    expect(await dps(['produce', `${name} orders`, at('orders.ndjson')])).toMatchObject({ code: 0 })
    await eventually('the large ones arrive', async () => (await dps(['read', `${name} large orders`])).out.split('\n').length === 3)
    expect(await dps(['preview', `${name} large orders`, '--last', '3'])).toMatchObject({
      code: 0,
      out: expect.stringContaining('filtered'),
    })
    const again = await dps(['deploy', at('big-only.ts'), '--name', `${name} big-only`])
    expect([again.code, again.err]).toEqual([0, expect.stringContaining(`the pipeline ${name} large orders stays at 1.0.0`)])
    await writeFile(at('dps.yaml'), `dps: 1\nset: ${name}\n`)
    expect((await dps(['apply', at('dps.yaml'), '--prune'])).code).toBe(0)
  })

  it('produces, reads, follows and explains records', async () => {
    pipeline = await createPipeline(client, from.id, [{ name: module, config: {} }], to.id)
    const tail = start(['tail', pipeline, '--at', 'sink'])
    const lines = Array.from({ length: 20 }, (_, n) => JSON.stringify({ n })).join('\n')
    const produced = await dps(['produce', from.id, '-o', 'json'], { stdin: lines })
    expect(json(produced)).toEqual({ stream: from.id, records: 20 })
    await waitForTotal(client, to.id, 9)
    expect((await dps(['read', to.id, '--limit', '2'])).out).toBe('{"n":10}\n{"n":11}\n')
    await eventually('the tail shows them', async () => tail.so().out.includes('{"n":19}'))
    tail.interrupt()
    expect((await tail.ended).code).toBe(130)
    expect((await dps(['explain', pipeline, '0:13'])).out).toContain('thirteen')
    expect(json<{ outcome: string }>(await dps(['explain', pipeline, '0:3', '-o', 'json'])).outcome).toBe('filtered')
    expect((await dps(['logs', pipeline, '--step', '0'])).out).toContain('task started')
    const half = await dps(['produce', from.id], { stdin: '{"n":1}\nno\n' })
    expect(half).toMatchObject({ code: 2, err: expect.stringContaining('line 2 is not JSON (1 record was written before)') })
  })

  it('goes on writing after the service was away for some seconds', async () => {
    const stream = await createStream(client, { n: 'integer' }, { partitions: 1 })
    const { hostname, port } = new URL(service().apiUrl)
    const sockets = new Set<Socket>()
    const listen = async (at: number): Promise<Server> => {
      const server = createServer((socket) => {
        sockets.add(socket)
        const through = connect(Number(port), hostname)
        socket.on('error', () => through.destroy()).on('close', () => through.destroy())
        through.on('error', () => socket.destroy()).on('close', () => socket.destroy())
        socket.pipe(through).pipe(socket)
      }).listen(at, '127.0.0.1')
      await once(server, 'listening')
      return server
    }
    let proxy = await listen(0)
    const { port: own } = proxy.address() as AddressInfo
    const producing = start(['produce', stream.id, '-o', 'json'], { isTyped: true, env: { DPS_URL: `http://127.0.0.1:${own}` } })
    producing.type('{"n":1}\n')
    await waitForTotal(client, stream.id, 1)
    proxy.close()
    for (const socket of sockets) socket.destroy()
    producing.type('{"n":2}\n')
    await new Promise((resolve) => setTimeout(resolve, 5000))
    proxy = await listen(own)
    await waitForTotal(client, stream.id, 2)
    producing.end()
    expect(json(await producing.ended)).toEqual({ stream: stream.id, records: 2 })
    proxy.close()
    for (const socket of sockets) socket.destroy()
  })

  it('writes and prints numbers with all their digits', async () => {
    const stream = await createStream(client, { price: 'number', tax: 'number' }, { partitions: 1 })
    const text = '{"price":0.1000000000000000055511151231257827,"tax":12.50}'
    expect((await dps(['produce', stream.id], { stdin: text })).code).toBe(0)
    expect((await dps(['read', stream.id])).out).toBe(`${text}\n`)
    const tailed = start(['tail', stream.id, '--stream', '-o', 'yaml'])
    await eventually('the tail shows it', async () => tailed.so().out.includes('0.1000000000000000055511151231257827'))
    tailed.interrupt()
    await tailed.ended
  })

  it('groups and redrives dead letters, and waits for the job', async () => {
    const groups = json<object[]>(await dps(['dlq', 'groups', pipeline, '-o', 'json']))
    expect(groups).toMatchObject([{ count: 1, step: 1, error_code: 'record_failed', message: 'thirteen' }])
    expect(json(await dps(['dlq', 'redrive', pipeline, '--dry-run', '-o', 'json']))).toEqual({ dry_run: true, count: 1 })
    const counts = ['--dry-run', '-o', 'json', '--step', '1', '--error', 'record_failed', '--module']
    for (const [named, count] of [
      [module, 1],
      [`${module}@1.0.1`, 1],
      [`${module}@1.0.0`, 0],
    ] as const)
      expect(json(await dps(['dlq', 'redrive', pipeline, ...counts, named]))).toEqual({ dry_run: true, count })
    expect(json(await dps(['dlq', 'list', pipeline, '--step', '2', '-o', 'json']))).toEqual([])
    const redriven = await dps(['dlq', 'redrive', pipeline, '--wait', '-o', 'json'])
    expect(redriven.code).toBe(1)
    expect(await dps(['dlq', 'redrive', pipeline, '--wait'])).toMatchObject({
      code: 1,
      err: expect.stringContaining('0 of 1 delivered, 1 failed again'),
    })
    expect(await dps(['replay', pipeline, '--from', 'yesterday'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('--from must be earliest, or a time'),
    })
    expect(json(redriven)).toMatchObject({ status: 'finished' })
    // It has failed again.
    expect(json(await dps(['dlq', 'list', pipeline, '--status', 'pending', '-o', 'json']))).toMatchObject([{ status: 'pending' }])
    expect(json(await dps(['dlq', 'list', pipeline, '--status', 'redriven', '-o', 'json']))).toEqual([])
    expect((await dps(['pause', pipeline])).err).toContain('is paus')
    await waitForStatus(client, pipeline, 'paused')
    expect(json(await dps(['pause', pipeline, '-o', 'json']))).toEqual({ id: pipeline, status: 'paused' })
    expect(json<{ pipelines: object[] }>(await dps(['overview', '-o', 'json'])).pipelines).toContainEqual(
      expect.objectContaining({ id: pipeline, status: 'paused', lag: 0 }),
    )
    expect((await dps(['overview'])).out).toContain('ATTENTION')
    const described = json<{ name: string }>(await dps(['describe', pipeline, '-o', 'json']))
    expect(described).toMatchObject({ status: 'paused', balanced: true })
    const { name } = json<{ name: string }>(await dps(['get', 'stream', from.id, '-o', 'json']))
    expect((await dps(['describe', pipeline])).out).toContain(`stream ${name}\n`)
    expect(json(await dps(['describe', 'stream', from.id, '-o', 'json']))).toMatchObject({ read_by: [described.name], written_by: [] })
    expect(json(await dps(['describe', 'smartmodule', module, '-o', 'json']))).toMatchObject({
      versions: ['1.0.1', '1.0.0'],
      used_by: [described.name],
    })
  })

  it('reads CSV with a header, and keeps secrets from standard input', async () => {
    const stream = await createStream(client, { name: 'string', city: 'string' }, { partitions: 1 })
    await writeFile(join(home, 'people.csv'), 'name,city\nAda,"London, W1"\nGrace,New York\n')
    expect((await dps(['produce', stream.id, 'people.csv'])).code).toBe(0)
    expect((await dps(['read', stream.id])).out).toBe('{"name":"Ada","city":"London, W1"}\n{"name":"Grace","city":"New York"}\n')
    const typed = await createStream(
      client,
      { id: 'integer', amount: 'number?', ok: 'boolean?', tags: 'array<string>?', note: 'string?' },
      { partitions: 1 },
    )
    await writeFile(join(home, 'typed.csv'), 'id,amount,ok,tags,note\n9007199254740991,1.50,TRUE,"[""a""]",5\n2,,,,\n')
    expect(await dps(['produce', typed.id, 'typed.csv'])).toMatchObject({ code: 0 })
    expect((await dps(['read', typed.id])).out).toBe('{"id":9007199254740991,"amount":1.50,"ok":true,"tags":["a"],"note":"5"}\n{"id":2}\n')
    await writeFile(join(home, 'untyped.csv'), 'id,note\n1,"two\nlines"\n\nthree,\n')
    expect((await dps(['produce', typed.id, 'untyped.csv'])).err).toContain('  untyped.csv:5: /id: must be integer')
    expect((await dps(['produce', typed.id], { stdin: '{"id":1}\n\n{"id":"2"}\n' })).err).toContain('  line 3: /id: must be integer')
    await writeFile(join(home, 'short.csv'), 'name,city\nAda,London\nGrace\n')
    expect(await dps(['produce', stream.id, 'short.csv'])).toMatchObject({
      code: 2,
      err: 'dps: short.csv: line 3 has 1 cell, and the header 2 (0 records were written before)\n',
    })
    await writeFile(join(home, 'open.csv'), 'name,city\n"Ada,London\n')
    expect((await dps(['produce', stream.id, 'open.csv'])).err).toContain('is not CSV')
    const missing = await dps(['produce', stream.id, 'missing.csv'])
    expect(missing).toMatchObject({ code: 2, err: expect.stringContaining("missing.csv can't be read: there is no such file") })
    await writeFile(join(home, 'twice.csv'), 'name,name\nAda,London\n')
    expect((await dps(['produce', stream.id, 'twice.csv'])).err).toContain('"name" twice')
    const name = unique('secret')
    expect((await dps(['secret', 'set', name], { stdin: 'hidden\n' })).code).toBe(0)
    const again = await dps(['secret', 'set', name, '-o', 'json'], { stdin: 'other\n' })
    expect(json(again)).toEqual({ id: expect.stringMatching(/^sec_/), name })
    expect(json(await dps(['delete', 'secret', name, '-o', 'json']))).toEqual({ kind: 'secrets', name, deleted: true })
    expect((await dps(['secret', 'set', name], { stdin: 'third\n' })).code).toBe(0)
    const got = await dps(['get', 'secret', name])
    expect([got.code, got.out]).toEqual([0, expect.stringContaining(name)])
    expect(got.out).not.toContain('third')
    await write(client, stream.id, [{ name: 'x', city: 'y' }])
  })
})
