/** What writing records leaves behind it, while it goes on and when it has ended. */
import { getEventListeners } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import type { Transport } from '../../clients/typescript/src/core/transport.ts'
import { writeLines } from '../../clients/typescript/src/write-records.ts'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

const RECORDS = 5000

/** A service that takes everything. */
const transport: Transport = {
  call: <T>() => Promise.resolve({ records: 100 } as T),
  open: () => Promise.reject(new Error('there are no events')),
  parse: JSON.parse,
  retriesMax: 0,
  signal: undefined,
}

const timers = () => process.getActiveResourcesInfo().filter((each) => each === 'Timeout').length

describe('writing records', () => {
  it('keeps none of those that are written, and no timers of them', async () => {
    const { signal } = new AbortController()
    const [results, timersBefore]: [WeakRef<object>[], number] = [[], timers()]
    let [kept, timersMeanwhile] = [RECORDS, RECORDS]
    const source: AsyncIterator<string> = {
      async next() {
        const result = { done: false, value: `{"n":${results.length}}` }
        if (results.length < RECORDS) {
          results.push(new WeakRef(result))
          return result
        }
        timersMeanwhile = timers() - timersBefore
        await sleep(10)
        collect()
        kept = results.filter((each) => each.deref() !== undefined).length
        return { done: true, value: undefined }
      },
    }
    await writeLines(transport, 'st_1', { [Symbol.asyncIterator]: () => source }, { recordsMax: 100, signal })
    expect(kept).toBeLessThan(100)
    expect(timersMeanwhile).toBeLessThan(10)
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })

  it('ends with its signal, at once or while the source is silent, and writes what was read', async () => {
    for (const abortMs of [0, 50]) {
      const stop = new AbortController()
      async function* lines() {
        yield '{"n":1}'
        await new Promise(() => {})
      }
      const writing = writeLines(transport, 'st_1', lines(), { signal: stop.signal })
      await sleep(abortMs)
      stop.abort()
      expect(await writing).toEqual({ records: 100, requests: 1 })
    }
    expect(await writeLines(transport, 'st_1', (async function* () {})(), { signal: AbortSignal.abort() })).toEqual({
      records: 0,
      requests: 0,
    })
  })
})
