/** Into which groups dead letters fall, as the table has them, and that the filter of a group selects all of it and nothing else. */
import fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import * as patternOfDeadLetters from '../../services/control-plane/store/migrations/0019-pattern-of-dead-letters.ts'
import { listDeadLetterGroups } from '../../services/control-plane/store/dead-letters.ts'
import type { Database } from '../../services/control-plane/store/database.ts'
import { boundsOfPending } from '../../services/control-plane/store/redrives.ts'
import { definitionOf } from '../harness/definitions.ts'
import { openOwnDatabase } from '../harness/own-database.ts'

const ID = 'pl_groups'
let db: Database
let close: () => Promise<void>
beforeAll(async () => {
  ;({ db, close } = await openOwnDatabase('groups'))
  await db('accounts').insert({ id: 'acc_a', name: 'a', type: 'developer' })
  const states = { status: 'stopped', desired: 'stopped', revision: 1, attempt: 1 }
  const pipeline = { id: ID, account_id: 'acc_a', name: 'p', description: '', ...states }
  await db('pipelines').insert({ ...pipeline, request: '{}', definition: JSON.stringify(definitionOf(ID)) })
})
afterAll(() => close())
beforeEach(() => db('dead_letters').delete())

type Failure = { step?: number; error_code?: string; pattern?: string | null }

/** Pending dead letters, in their order in the topic. */
async function add(failures: Failure[]): Promise<void> {
  const failure = { step: 1, module: 'm', version: '1.0.0', revision: 1, error_code: 'no', error_message: 'no', attempts: 1, redrives: 0 }
  const record = { pipeline_id: ID, letter_partition: 0, partition: 0, failed_at: new Date(0), headers: '[]' }
  const rows = failures.map((each, at) => ({ ...failure, ...record, letter_offset: at, record_offset: at, ...each }))
  await db.batchInsert('dead_letters', rows, 1000)
}

const listed = () => listDeadLetterGroups(db, ID, { status: 'pending' })

/** Step, pattern and count of each group. */
const groups = async () => (await listed()).map(({ step, pattern, count }) => [step, pattern, count])

/** How many a redrive by each group's filter would take. */
const taken = async () =>
  Promise.all(
    (await listed()).map(async ({ step, module, version, error_code, pattern }) => {
      const filter = { step, module, version, error: error_code, ...(pattern === null ? {} : { pattern }) }
      return (await boundsOfPending(db, ID, { filter, redrivesMax: 10 })).reduce((sum, { count }) => sum + count, 0)
    }),
  )

const patterns = (count: number) => Array.from({ length: count }, (_, n) => ({ pattern: `failed at ${String.fromCharCode(97 + n)}` }))

it('ten patterns are ten groups, and eleven are one', async () => {
  await add([...patterns(10), { pattern: 'failed at a' }])
  const ten = await groups()
  expect([ten.length, ten[0], await taken()]).toEqual([10, [1, 'failed at a', 2], [2, 1, 1, 1, 1, 1, 1, 1, 1, 1]])
  await db('dead_letters').delete()
  await add(patterns(11))
  expect([await groups(), await taken()]).toEqual([[[1, null, 11]], [11]])
})

it('a step or error whose patterns are few is not concerned by another one that has many', async () => {
  await add([...patterns(200), ...[1, 2, 3].map((n) => ({ step: 2, pattern: n === 3 ? 'b' : 'a' })), { error_code: 'other', pattern: 'a' }])
  const found = await groups()
  expect([found[0], found[1], found.length]).toEqual([[1, null, 200], [2, 'a', 2], 4])
  expect(await taken()).toEqual([200, 2, 1, 1])
})

it('dead letters from before there were patterns are one group with what is alike otherwise, up and down', async () => {
  await db.transaction(patternOfDeadLetters.down)
  await add([{}])
  await db.transaction(patternOfDeadLetters.up)
  await db('dead_letters').insert({ ...(await db('dead_letters').first('*')), headers: '[]', letter_offset: 1, pattern: 'failed' })
  expect([await groups(), await taken()]).toEqual([[[1, null, 2]], [2]])
})

it('names the latest of a group, with a pattern and without one', async () => {
  await add([{ pattern: 'a' }, { pattern: 'b' }, { pattern: 'a' }, ...patterns(11).map((each) => ({ ...each, step: 2 }))])
  const latest = (await listed()).map(({ pattern, latest: { step, letter_offset } }) => [step, pattern, letter_offset])
  expect(latest).toEqual([
    [2, null, '13'],
    [1, 'a', '2'],
    [1, 'b', '1'],
  ])
})

it('every dead letter is in one group, whose filter selects as many as it counts', async () => {
  const failure = fc.record({
    step: fc.constantFrom(1, 2),
    error_code: fc.constantFrom('no', 'not'),
    pattern: fc.oneof({ weight: 30, arbitrary: fc.integer({ min: 0, max: 14 }).map(String) }, { weight: 1, arbitrary: fc.constant(null) }),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(failure, { maxLength: 60 }), async (failures) => {
      await db('dead_letters').delete()
      await add(failures)
      const counts = (await listed()).map(({ count }) => count)
      expect(counts.reduce((sum, count) => sum + count, 0)).toBe(failures.length)
      expect(await taken()).toEqual(counts)
      const alike = Map.groupBy(failures, ({ step, error_code }) => `${step} ${error_code}`)
      const sizes = [...alike.values()].map((each) => new Set(each.map(({ pattern }) => pattern)))
      expect(counts).toHaveLength(sizes.reduce((sum, each) => sum + (each.has(null) || each.size > 10 ? 1 : each.size), 0))
    }),
    { numRuns: 30 },
  )
})
