/** What a source has seen, outside of the heap: the same answers as from a map of all keys and values, in a small part of its memory. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createSeenEntries, seenValue } from '../../shared/connectors/seen-entries.ts'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

const MIB = 1 << 20

/** What is in use, in MiB. */
function used(): { heap: number; buffers: number } {
  // What the first frees is counted by the second.
  collect()
  collect()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return { heap: heapUsed / MIB, buffers: arrayBuffers / MIB }
}

const PREFIX = 'a/folder/that/all/objects/share/'.repeat(8)
const VERSIONS = ['', '"e1"', '"e2"', '"e 2"']
const TIMES = [0, 1, 2.5, 1_760_000_000_000]

describe('entries of what was seen', () => {
  it('answer as a map does, whatever was added, replaced and deleted', () => {
    const change = fc.record({
      key: fc.oneof(
        fc.nat(80).map((n) => `${PREFIX}${n}`),
        fc.string({ unit: 'grapheme', maxLength: 3 }),
      ),
      entry: fc.option(fc.record({ version: fc.constantFrom(...VERSIONS), time: fc.constantFrom(...TIMES) }), { freq: 2 }),
    })
    fc.assert(
      fc.property(fc.array(change, { minLength: 200, maxLength: 600 }), (changes) => {
        const [entries, map] = [createSeenEntries(), new Map<string, { version: string; time: number }>()]
        for (const { key, entry } of changes) {
          if (entry === null) {
            entries.delete(key)
            map.delete(key)
          } else {
            entries.set(key, seenValue(entry.version, entry.time))
            map.set(key, entry)
          }
        }
        expect(entries.size).toBe(map.size)
        const keys = [...new Set(changes.map(({ key }) => key))]
        const answers = keys.map((key) => [
          ...VERSIONS.map((version) => entries.compare(key, version)),
          ...TIMES.map((time) => entries.isBefore(key, time)),
        ])
        const wanted = keys.map((key) => {
          const entry = map.get(key)
          return [
            ...VERSIONS.map((version) => (!entry ? 'unseen' : entry.version === version ? 'same' : 'other')),
            ...TIMES.map((time) => entry !== undefined && entry.time < time),
          ]
        })
        expect(answers).toEqual(wanted)
      }),
    )
  })

  it('are all found while their number grows to a hundred thousand and shrinks, and give their memory back', () => {
    const COUNT = 100_000
    const [entries, before] = [createSeenEntries(), used()]
    for (let n = 0; n < COUNT; n++) entries.set(`${PREFIX}${n}`, seenValue(`"${n}"`, n))
    const wrong = (from: number) => {
      let count = 0
      for (let n = 0; n < COUNT; n++) if (entries.compare(`${PREFIX}${n}`, `"${n}"`) !== (n < from ? 'unseen' : 'same')) count++
      return count
    }
    expect([entries.size, wrong(0)]).toEqual([COUNT, 0])
    for (let n = 0; n < COUNT - 500; n++) entries.delete(`${PREFIX}${n}`)
    expect([entries.size, wrong(COUNT - 500)]).toEqual([500, 0])
    expect(used().buffers - before.buffers).toBeLessThan(0.5)
    for (let n = 0; n < COUNT; n++) entries.delete(`${PREFIX}${n}`)
    expect([entries.size, wrong(COUNT)]).toEqual([0, 0])
  })

  it('of a million take less than 64 MiB, and next to nothing of it on the heap', () => {
    const [entries, before] = [createSeenEntries(), used()]
    for (let n = 0; n < 1_000_000; n++) entries.set(`${PREFIX}${n}`, seenValue(`"${n}"`, n))
    const { heap, buffers } = used()
    expect(entries.size).toBe(1_000_000)
    expect(buffers - before.buffers).toBeLessThan(60)
    expect(heap - before.heap).toBeLessThan(4)
  })
})
