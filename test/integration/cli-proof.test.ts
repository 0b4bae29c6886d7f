/** `dps` as a process, with a changed chain: what it would make of records and of dead letters, before it is applied. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { eventually, loggedIn, service, unique } from '../harness/client.ts'
import { useDps } from '../harness/command-line.ts'
import { waitForStatus, write } from '../harness/pipelines.ts'

const client = await loggedIn(service().accounts.enterprise)
const { home, dps: once, json } = await useDps()
/** A command, again as long as the service has no time for it. */
const dps = (args: string[]) =>
  eventually(`dps ${args[0]} is answered`, async () => {
    const ran = await once(args)
    return ran.code !== 3 && ran
  })

const [set, from, to, name, half] = [unique('set'), unique('sums'), unique('means'), unique('averages'), unique('half')]

const HALF = (of: string) => `import { Path, Record } from 'dps'
const count = new Path('count')
export function filter(record: Record): bool {
  if (record.integer(count) ${of} 0) record.fail('nothing to share')
  return true
}
`

/** The manifest of a chain with one step or two. */
const manifest = (mean: string, more = ''): string => `
dps: 1
set: ${set}
streams:
  ${from}: { schema: { sum: integer, count: integer }, partitions: 1 }
  ${to}: { schema: { sum: integer, count: integer, mean: integer }, partitions: 1 }
${more === '' ? '' : `smartmodules: { ${half}: { source: ./half.ts } }`}
pipelines:
  ${name}:
    source: { stream: ${from} }
    steps: [ ${more}{ module: dps/cel, with: { set: { mean: '${mean}' } } } ]
    sink: { stream: ${to} }
`
const RUNNING = 'value.sum / value.count'
const MENDED = 'value.count == 0 ? 0 : value.sum / value.count'

beforeAll(async () => {
  await writeFile(join(home, 'shop.yaml'), manifest(RUNNING))
  await writeFile(join(home, 'mended.yaml'), manifest(MENDED))
  expect(await dps(['apply', 'shop.yaml'])).toMatchObject({ code: 0 })
  const idOf = async (what: string, named: string) => json<{ id: string }>(await dps(['get', what, named, '-o', 'json'])).id
  await waitForStatus(client, await idOf('pipeline', name), 'running')
  await write(client, await idOf('stream', from), [
    { sum: 6, count: 3 },
    { sum: 1, count: 0 },
    { sum: 2, count: 0 },
  ])
  await eventually('two are dead letters', async () => json<object[]>(await dps(['dlq', 'list', name, '-o', 'json'])).length === 2)
})

describe('dps with a changed chain', () => {
  it('says what a redrive would make of dead letters: by the chain that runs, and by that of a manifest', async () => {
    const before = await dps(['dlq', 'try', name])
    expect(before).toMatchObject({ code: 1, err: expect.stringContaining('2 of 2 would fail again') })
    expect(before.out).toMatch(/0:1 +record_failed: .*divide by zero +dead_letter +failed: .*divide by zero/)

    const after = await dps(['dlq', 'try', name, '--manifest', 'mended.yaml', '--last', '1'])
    expect(after).toMatchObject({ code: 0, err: expect.stringContaining('the newest 1 of 2') })
    expect(after.out).toMatch(/0:2 +record_failed: .*divide by zero +delivered +{"sum":2,"count":0,"mean":0}/)
    expect(json(await dps(['dlq', 'try', name, '--manifest', 'mended.yaml', '--step', '2', '-o', 'json']))).toEqual([])
    // Nothing is written.
    expect(json(await dps(['get', 'pipeline', name, '-o', 'json']))).toMatchObject({ revision: 1 })
    expect(json<object[]>(await dps(['dlq', 'list', name, '--status', 'pending', '-o', 'json']))).toHaveLength(2)
  })

  it('previews the newest records by the chain of a manifest', async () => {
    expect((await dps(['preview', name])).code).toBe(1)
    const mended = await dps(['preview', name, '--manifest', 'mended.yaml', '-o', 'json'])
    expect([mended.code, json<{ outcome: string }[]>(mended).map(({ outcome }) => outcome)]).toEqual([0, Array(3).fill('delivered')])
  })

  it('runs a SmartModule of the manifest that is not deployed', async () => {
    await writeFile(join(home, 'half.ts'), HALF('<'))
    await writeFile(join(home, 'own.yaml'), manifest(MENDED, `{ module: ${half} }, `))
    expect(await dps(['dlq', 'try', name, '--manifest', 'own.yaml'])).toMatchObject({ code: 0 })
    await writeFile(join(home, 'half.ts'), HALF('=='))
    const failing = await dps(['dlq', 'try', name, '--manifest', 'own.yaml', '-o', 'ndjson'])
    expect([failing.code, failing.out.match(/"outcome":"dead_letter"/g)?.length]).toEqual([1, 2])
    expect(failing.out).toContain(`${half} failed the record`)
    expect((await dps(['preview', name, '--manifest', 'own.yaml'])).err).toContain('2 of 3 records failed')
    await writeFile(join(home, 'half.ts'), HALF('==').replace('integer', 'intger'))
    for (const asked of [
      ['dlq', 'try', name, '--manifest', 'own.yaml'],
      ['diff', 'own.yaml'],
    ])
      expect(await dps(asked)).toMatchObject({ code: 2, err: expect.stringMatching(/\n {2}half\.ts:4:14: .*intger/) })
    await writeFile(join(home, 'half.ts'), HALF('=='))
    await writeFile(join(home, 'pinned.yaml'), manifest(MENDED, `{ module: ${half}, version: 1.0.0 }, `))
    expect(await dps(['preview', name, '--manifest', 'pinned.yaml'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('is not the id or name of a SmartModule'),
    })
  })

  it('runs a source over the dead letters of a pipeline, in place of the SmartModule that failed them', async () => {
    const [failing, other] = [unique('shares'), unique('other')]
    await writeFile(join(home, 'shares.ts'), HALF('=='))
    expect(await dps(['deploy', 'shares.ts', '--name', failing])).toMatchObject({ code: 0 })
    const steps = `[ { module: ${failing} }, { module: dps/cel, with: { set: { mean: '${MENDED}' } } } ]`
    await writeFile(
      join(home, 'more.yaml'),
      `dps: 1\nset: ${unique('more')}\npipelines: { ${other}: { source: { stream: ${from} }, steps: ${steps}, sink: { stream: ${to} }, failure_threshold: 1 } }\n`,
    )
    expect(await dps(['apply', 'more.yaml'])).toMatchObject({ code: 0 })
    await eventually('two are dead letters', async () => json<object[]>(await dps(['dlq', 'list', other, '-o', 'json'])).length === 2)
    const tried = ['try', 'shares.ts', '--name', failing, '--dead-letters', other]
    expect((await dps(tried)).err).toContain('2 of 2 records failed')
    await writeFile(join(home, 'shares.ts'), HALF('<'))
    const mended = await dps(tried)
    expect(mended.code).toBe(0)
    // Through the step behind it, too.
    expect(mended.out).toMatch(/delivered +{"sum":2,"count":0} +{"sum":2,"count":0,"mean":0}/)
    expect((await dps(['try', 'shares.ts', '--dead-letters', other])).err).toContain('has no step of shares: --name says')
    expect((await dps(['try', 'shares.ts'])).err).toContain('either --stream, --records or --dead-letters is needed')
  })

  it('names what is wrong with the manifest', async () => {
    await writeFile(join(home, 'other.yaml'), `dps: 1\nset: ${set}\npipelines: { other: {} }\n`)
    await writeFile(join(home, 'odd.yaml'), `dps: 1\nset: ${set}\npipelines: { ${name}: { steps: [ { modul: dps/cel } ] } }\n`)
    expect(await dps(['preview', name, '--manifest', 'other.yaml'])).toMatchObject({
      code: 2,
      err: expect.stringContaining(`other.yaml has no pipeline named ${name}`),
    })
    expect((await dps(['preview', name, '--manifest', 'odd.yaml'])).err).toContain(`odd.yaml: pipelines.${name}.steps.0.module: `)
    await writeFile(join(home, 'typo.yaml'), manifest('valu.sum'))
    expect(await dps(['dlq', 'try', name, '--manifest', 'typo.yaml'])).toMatchObject({ code: 2, err: expect.stringContaining('valu') })
    expect((await dps(['dlq', 'try', name, '--last', '101'])).err).toContain('must be a whole number from 1 to 100')
  })
})

describe('dps diff', () => {
  it('shows where long values begin to differ', async () => {
    const long = `value.count == 0 ? 0 : ${Array.from({ length: 12 }, () => 'value.sum').join(' + ')}`
    await writeFile(join(home, 'long.yaml'), manifest(`${long} + 1`))
    expect(await dps(['apply', 'long.yaml'])).toMatchObject({ code: 0 })
    await writeFile(join(home, 'longer.yaml'), manifest(`${long} + 2`))
    expect((await dps(['diff', 'longer.yaml'])).out).toMatch(/: ….*value\.sum \+ 1" → ….*value\.sum \+ 2"/)
  })
})
