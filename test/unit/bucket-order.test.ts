/** A bucket with more objects than one listing keeps. */
import { mkdtemp, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createConnectorContext } from '../../shared/connectors/context.ts'
import { BucketSourceConfig } from '../../shared/connectors/storage-bucket/connector.ts'
import { openBucketSource } from '../../shared/connectors/storage-bucket/source.ts'
import { readSplit, type SplitState } from '../harness/conformance.ts'

const OBJECTS = 30
const numbers = Array.from({ length: OBJECTS }, (_, n) => n)
const nameOf = (n: number): string => `${String(n).padStart(2, '0')}.ndjson`
/** Another order than that of the names. */
const ageOf = (n: number): number => (n * 7) % OBJECTS

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'bucket-order-'))
  for (const n of numbers) {
    await writeFile(join(folder, nameOf(n)), `{"n":${n}}\n{"n":${n}}\n`)
    await utimes(join(folder, nameOf(n)), 1_700_000_000 - ageOf(n), 1_700_000_000 - ageOf(n))
  }
})
afterAll(() => rm(folder, { recursive: true }))

const open = (order: 'name' | 'time', foundMax: number) =>
  openBucketSource(
    BucketSourceConfig.parse({ bucket: `file://${folder}`, order, follow: false }),
    createConnectorContext({
      secretOf: () => '',
      defaults: { addresses: 'any', per_account: { warehouse: false, bucket: false }, bucket_folders: [folder] },
      runId: 'run',
      origin: 'x',
      fields: undefined,
      log: () => {},
      now: Date.now,
    }),
    foundMax,
  )

it.each([
  ['name', numbers],
  ['time', numbers.toSorted((a, b) => ageOf(b) - ageOf(a))],
] as const)('reads each once in the order of %s, a listing after the other, also over restarts', async (order, expected) => {
  const state: SplitState = { position: undefined, seen: new Map() }
  const values: unknown[] = []
  for (const rounds of [1, 2, Infinity]) {
    const source = await open(order, 7)
    values.push(...(await readSplit(source, { index: 0, count: 1 }, state, (_, reads) => reads >= rounds)))
    await source.close()
  }
  expect(values).toEqual(expected.flatMap((n) => [`{"n":${n}}`, `{"n":${n}}`]))
})
