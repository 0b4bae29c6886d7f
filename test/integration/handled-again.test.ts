/** Which dead letters count as redriven once their records were handled again, as the table has them. */
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { addDeadLetters, type NewDeadLetter } from '../../services/control-plane/store/dead-letters.ts'
import type { Database } from '../../services/control-plane/store/database.ts'
import {
  dropPositionResets,
  lastSkipping,
  listPositionResets,
  setPositionResets,
  settleHandledAgain,
} from '../../services/control-plane/store/position-resets.ts'
import { boundsOfPending } from '../../services/control-plane/store/redrives.ts'
import { definitionOf } from '../harness/definitions.ts'
import { openOwnDatabase } from '../harness/own-database.ts'

const ID = 'pl_again'
const RESET = { topicId: 'topic', revision: 5 }
let db: Database
let close: () => Promise<void>
beforeAll(async () => {
  ;({ db, close } = await openOwnDatabase('handled_again'))
  await db('accounts').insert({ id: 'acc_a', name: 'a', type: 'developer' })
  const pipeline = {
    id: ID,
    account_id: 'acc_a',
    name: 'p',
    description: '',
    status: 'stopped',
    desired: 'stopped',
    revision: 1,
    attempt: 1,
  }
  await db('pipelines').insert({ ...pipeline, request: '{}', definition: JSON.stringify(definitionOf(ID)) })
  await db('dead_letter_positions').insert({ pipeline_id: ID, partition: 0, next_offset: 0 })
})
afterAll(() => close())
beforeEach(async () => {
  await db('dead_letters').delete()
  await db('position_resets').delete()
})

/** Dead letters of the records at these offsets, in a topic of their own order. */
async function add(
  offsets: readonly number[],
  change: Partial<NewDeadLetter> & { status?: string; job_id?: string } = {},
  at = 0,
): Promise<void> {
  const failure = { step: 1, module: '', version: '', revision: 1, error_code: 'no', error_message: 'no', attempts: 1, redrives: 0 }
  const letter = { ...failure, pipeline_id: ID, letter_partition: 0, topic_id: 'topic', partition: 0, failed_at: new Date(0) }
  const rows = offsets.map((offset, index) => ({
    ...letter,
    letter_offset: at + index,
    record_offset: offset,
    key: null,
    value: null,
    headers: '[]',
    ...change,
  }))
  await db.batchInsert('dead_letters', rows, 1000)
}
const offsetsWith = async (status: string): Promise<number[]> =>
  (await db('dead_letters').where({ status }).orderBy(['record_offset', 'letter_offset']).pluck('record_offset')).map(Number)
const reset = (from: bigint) => setPositionResets(db, ID, RESET, new Map([[0, from]]))
async function settle(until: bigint, onChunk?: () => void): Promise<void> {
  for (const each of await listPositionResets(db, ID)) await settleHandledAgain(db, ID, each, until, onChunk)
}
const range = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => from + index)

it('those of earlier revisions, from the position that was set up to where the pipeline is', async () => {
  await add([10, 20, 30, 40])
  await add([21], { revision: 5 }, 10)
  await add([22], { topic_id: 'another' }, 20)
  await add([23], { topic_id: null }, 30)
  await add([24], { partition: 1 }, 40)
  await reset(20n)
  await settle(35n)
  expect(await offsetsWith('redriven')).toEqual([20, 30])
  expect(await listPositionResets(db, ID)).toEqual([{ partition: 0, topic_id: 'topic', from_offset: '35', revision: 5 }])
  await settle(50n)
  expect(await offsetsWith('redriven')).toEqual([20, 30, 40])
  expect(await listPositionResets(db, ID)).toEqual([])
})

it('one that a redrive has taken, once the redrive has given it up', async () => {
  await add([10, 12])
  await add([11], { status: 'redriving', job_id: 'job_1' }, 10)
  await reset(0n)
  await settle(20n)
  expect(await offsetsWith('redriven')).toEqual([10, 12])
  await db('dead_letters').where({ status: 'redriving' }).update({ status: 'pending', job_id: null })
  await settle(20n)
  expect(await offsetsWith('redriven')).toEqual([10, 11, 12])
  expect(await listPositionResets(db, ID)).toEqual([])
})

it('none once another position was set', async () => {
  await add([10])
  await reset(0n)
  const [earlier] = await listPositionResets(db, ID)
  await dropPositionResets(db, ID, [0])
  await settleHandledAgain(db, ID, earlier!, 20n)
  await setPositionResets(db, ID, { ...RESET, revision: 6 }, new Map([[0, 50n]]))
  await settleHandledAgain(db, ID, earlier!, 20n)
  expect(await offsetsWith('pending')).toEqual([10])
})

it('no redrive takes those whose records the pipeline still handles again, unless the position is set past them', async () => {
  await add([10, 20, 30])
  await reset(20n)
  const takes = async () => (await boundsOfPending(db, ID, { redrivesMax: 10 })).map(({ first, last, count }) => [first, last, count])
  expect(await takes()).toEqual([['0', '0', 1]])
  await settle(25n)
  expect(await offsetsWith('redriven')).toEqual([20])
  expect(await takes()).toEqual([['0', '0', 1]])
  await dropPositionResets(db, ID, [0])
  await reset(40n)
  expect(await takes()).toEqual([['0', '2', 2]])
})

it('the dead letter of a later revision replaces the pending one of its record, of whichever step, and no other', async () => {
  const [one, other] = [Buffer.from('1'), Buffer.from('2')]
  await add([10], { value: one })
  await add([11], { value: other }, 1)
  const { headers: _headers, ...known } = (await db('dead_letters').where({ record_offset: 10 }).first()) as Record<string, unknown>
  const { status: _status, job_id: _job, ...letter } = known
  const later = { ...letter, step: 2, revision: 6, letter_offset: '2', headers: [] } as unknown as NewDeadLetter
  await addDeadLetters(db, ID, 0, [later], 3n)
  expect([await offsetsWith('copy'), await offsetsWith('pending')]).toEqual([[10], [10, 11]])
})

it('is not known where a revision since then skips what fails', async () => {
  const definition = (policy: string) => JSON.stringify({ ...definitionOf(ID), on_error: { policy } })
  for (const [revision, policy] of [
    [4, 'skip'],
    [5, 'dead_letter'],
    [6, 'retry'],
  ] as const)
    await db('pipeline_revisions').insert({ pipeline_id: ID, revision, definition: definition(policy) })
  expect([await lastSkipping(db, ID, 3), await lastSkipping(db, ID, 4), await lastSkipping(db, ID, 5)]).toEqual([4, 4, undefined])
  await db('pipeline_revisions').delete()
})

it('a hundred thousand in parts, which go on where they were ended', async () => {
  await add(range(0, 100_000))
  await reset(0n)
  let chunks = 0
  const ended = settle(90_000n, () => {
    if (++chunks === 4) throw new Error('it takes too long')
  })
  await expect(ended).rejects.toThrow('it takes too long')
  const done = (await offsetsWith('redriven')).length
  expect(done).toBe(20_000)
  expect(Number((await listPositionResets(db, ID))[0]!.from_offset)).toBe(done - 1)
  await settle(90_000n)
  expect(await offsetsWith('pending')).toEqual(range(90_000, 100_000))
  // What is settled is not looked at again.
  const plan = await db.transaction(async (trx): Promise<{ rows: unknown }> => {
    // With statistics, which are gathered at any time, most of the rows are worth reading in order.
    await trx.raw('SET LOCAL enable_seqscan = off')
    return trx.raw(
      `EXPLAIN SELECT 1 FROM dead_letters WHERE pipeline_id = ? AND partition = 0 AND record_offset >= 0 AND status IN ('pending')`,
      [ID],
    )
  })
  expect(JSON.stringify(plan.rows)).toContain('dead_letters_open')
})

it('also one that is settled before the new dead letter of its record is there, which then replaces it', async () => {
  await add([10])
  await reset(0n)
  await settle(20n)
  const [{ letter_offset: _offset, status: _status, job_id: _job, headers: _headers, ...before }] = await db('dead_letters')
  await addDeadLetters(db, ID, 0, [{ ...before, letter_offset: '1', revision: 5, headers: [] }], 2n)
  expect([await offsetsWith('copy'), await offsetsWith('pending'), await offsetsWith('redriven')]).toEqual([[10], [10], []])
})
