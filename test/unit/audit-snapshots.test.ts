/** Resources in the audit log: what an account's entries of a day keep of them is bounded, and says what was left out. */
import { createHash } from 'node:crypto'
import { expect, it } from 'vitest'
import { createSnapshots } from '../../services/control-plane/middleware/audit-snapshots.ts'

const DAY_MS = 86_400_000

it('beyond the day’s bytes of an account its resources are told by their hashes; other accounts and the next day are not', () => {
  let now = 3 * DAY_MS
  const snapshotOf = createSnapshots(() => now, 1000)
  const body = { id: 'st_a', name: 'a', text: 'é'.repeat(200) }
  expect([snapshotOf('acc_a', body), snapshotOf('acc_a', body)]).toEqual([body, body])
  const text = JSON.stringify(body)
  const left_out = { characters: text.length, sha256: createHash('sha256').update(text).digest('hex') }
  expect(snapshotOf('acc_a', body)).toEqual({ id: 'st_a', name: 'a', left_out })
  expect(snapshotOf('acc_b', body)).toEqual(body)
  now += DAY_MS
  expect(snapshotOf('acc_a', body)).toEqual(body)
})

it('a resource of more than 8 KiB is told by its hash, and takes nothing of the day’s bytes', () => {
  const snapshotOf = createSnapshots(() => 0, 1000)
  expect(snapshotOf('acc_a', { id: 'pl_a', text: 'x'.repeat(9000) })).toMatchObject({ id: 'pl_a', left_out: {} })
  expect(snapshotOf('acc_a', { id: 'pl_a' })).toEqual({ id: 'pl_a' })
  expect([snapshotOf('acc_a', undefined), snapshotOf('acc_a', [])]).toEqual([null, null])
})
