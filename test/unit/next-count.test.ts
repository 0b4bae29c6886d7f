/** How many rows or entries a source asks for, whose sizes it learns from the answers. */
import { describe, expect, it } from 'vitest'
import { nextCount } from '../../shared/connectors/next-count.ts'

const SIZE = { bytes: 8 << 20, countMax: 5000 }

/** The counts that are asked for while each answer has as many rows of so many bytes. */
function asked(rows: number[], first = 16): number[] {
  let count = first
  return rows.map((bytes) => {
    const now = count
    count = nextCount(now, { count: now, bytes: now * bytes }, SIZE)
    return now
  })
}

describe('the number of rows to ask for', () => {
  it('doubles while they are small, up to a limit', () => {
    expect(asked(Array(11).fill(100))).toEqual([16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 5000, 5000])
  })

  it('falls at once with large ones to what the bytes allow, and to one at least', () => {
    expect(asked([100, 300_000, 300_000, 100, 20 << 20, 20 << 20])).toEqual([16, 32, 27, 27, 54, 1])
  })

  it('stays after an empty answer', () => {
    expect(nextCount(64, { count: 0, bytes: 0 }, SIZE)).toBe(64)
  })
})
