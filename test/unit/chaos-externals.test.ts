/** The chaos oracle of external sinks: what makes its verdict on a table's or a bucket's records and dead letters red. */
import { expect, it } from 'vitest'
import { createJudge, isExactOutside } from '../chaos/externals.ts'
import { isPoison, recordAt } from '../chaos/load.ts'

const ACKNOWLEDGED = [600, 400]

function everyRecord(): { key: string; n: number }[] {
  return ACKNOWLEDGED.flatMap((count, partition) => Array.from({ length: count }, (_, index) => recordAt(partition, index)))
}

/** The verdict on a correct sink, but for the change of its dead letters and of how many the API lists. */
function verdictOn(change: (letters: Map<string, number>) => void = () => {}, listedMore = 0) {
  const judge = createJudge(ACKNOWLEDGED)
  const letters = new Map<string, number>()
  for (const { key, n } of everyRecord()) {
    if (isPoison(n)) letters.set(`${key}/${n}`, 1)
    else judge.take(key, n)
  }
  const listed = letters.size + listedMore
  change(letters)
  return judge.end(letters, listed)
}

const [poison] = everyRecord().filter(({ n }) => isPoison(n))
const record = `${poison!.key}/${poison!.n}`

it('is green for a sink with every record once and one dead letter of each poison record', () => {
  expect(isExactOutside(verdictOn())).toBe(true)
})

it.each([
  ['two dead letters of one failure', (letters: Map<string, number>) => void letters.set(record, 2), { letters_duplicated: 1 }],
  ['no dead letter of a failure', (letters: Map<string, number>) => void letters.delete(record), { letters_missing: 2 }],
  ['a dead letter of a sound record', (letters: Map<string, number>) => void letters.set('k0-0/1', 1), { letters_missing: 1 }],
])('is red for %s', (_name, change, fault) => {
  const verdict = verdictOn(change)
  expect(verdict).toMatchObject(fault)
  expect(isExactOutside(verdict)).toBe(false)
})

it('is red where the API lists a copy of a dead letter', () => {
  expect(isExactOutside(verdictOn(undefined, 1))).toBe(false)
})
