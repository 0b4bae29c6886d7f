/** What a redrive takes of a pipeline's dead letters, and into which ranges they fall, in Postgres. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { openDatabase } from '../../services/control-plane/store/database.ts'
import { boundsOfPending, rangesOfJob, takeForJob } from '../../services/control-plane/store/redrives.ts'
import { service } from '../harness/client.ts'

type Row = { letter_partition: number; letter_offset: number; isPending: boolean; step: number }

/** The ranges by walking through all letters: one ends where a letter lies that is not taken. */
function walked(rows: Row[], isTaken: (row: Row) => boolean): [partition: number, from: number, until: number][] {
  const ranges: [number, number, number][] = []
  let isOpen = false
  for (const [index, row] of rows.entries()) {
    if (rows[index - 1]?.letter_partition !== row.letter_partition) isOpen = false
    if (!isTaken(row)) isOpen = false
    else if (isOpen) ranges.at(-1)![2] = row.letter_offset + 1
    else {
      ranges.push([row.letter_partition, row.letter_offset, row.letter_offset + 1])
      isOpen = true
    }
  }
  return ranges
}

const letters = fc
  .uniqueArray(fc.record({ letter_partition: fc.nat(2), letter_offset: fc.nat(30), isPending: fc.boolean(), step: fc.nat(1) }), {
    selector: ({ letter_partition, letter_offset }) => `${letter_partition}/${letter_offset}`,
    maxLength: 40,
  })
  .map((rows) => rows.toSorted((a, b) => a.letter_partition - b.letter_partition || a.letter_offset - b.letter_offset))

it('all pending dead letters of the selection are taken, and ranges have no others within them', async () => {
  const db = openDatabase(service().databaseUrl, 1)
  try {
    await db.transaction(async (trx) => {
      // Hides the real one in this session.
      await trx.raw(
        `CREATE TEMP TABLE dead_letters (pipeline_id text, letter_partition int, letter_offset bigint, status text, job_id text,
          redrives int, step int, revision int, topic_id text, partition int, record_offset bigint) ON COMMIT DROP`,
      )
      await fc.assert(
        fc.asyncProperty(letters, fc.constantFrom(undefined, 1), async (rows, step) => {
          await trx('dead_letters').delete()
          const inserted = rows.map(({ isPending, ...row }) => ({
            ...row,
            pipeline_id: 'pl_1',
            status: isPending ? 'pending' : 'redriven',
            job_id: isPending ? null : 'job_0',
            redrives: 0,
          }))
          if (inserted.length > 0) await trx('dead_letters').insert(inserted)
          const isTaken = (row: Row) => row.isPending && (step === undefined || row.step === step)
          const taken = rows.filter(isTaken).length
          const selection = { filter: step === undefined ? {} : { step }, redrivesMax: 10 }
          const bounds = await boundsOfPending(trx, 'pl_1', selection)
          expect(bounds.reduce((sum, { count }) => sum + count, 0)).toBe(taken)
          expect(await takeForJob(trx, 'pl_1', 'job_1', selection, bounds)).toBe(taken)
          const ranges = await rangesOfJob(trx, 'pl_1', 'job_1', bounds, 1000)
          expect(ranges.map((range) => [range.letter_partition, Number(range.from), Number(range.until)])).toEqual(walked(rows, isTaken))
          expect((await rangesOfJob(trx, 'pl_1', 'job_1', bounds, 1)).length).toBe(Math.min(1, ranges.length))
        }),
        { numRuns: 60 },
      )
    })
  } finally {
    await db.destroy()
  }
})
