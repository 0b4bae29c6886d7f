/** The log book: the newest lines of each pipeline, the least recent pipelines forgotten first, nothing older than a day. */
import { describe, expect, it } from 'vitest'
import { createLogBook } from '../../services/control-plane/logs/log-book.ts'
import type { LogEntry } from '../../shared/model/logs.ts'
import { limitMs } from '../harness/machine-speed.ts'

const START = Date.parse('2026-11-23T00:00:00.000Z')

function setUp() {
  let nowMs = START
  let offset = 0n
  const book = createLogBook(() => nowMs)
  const add = (pipelineId: string, message: string): void => {
    const entry: LogEntry = {
      at: new Date(nowMs).toISOString(),
      level: 'info',
      step: 1,
      module: 'm',
      version: '1.0.0',
      role: 'chain',
      task: 0,
      revision: 1,
      message,
      processor_id: 'p',
    }
    book.add(pipelineId, { offset: offset++, entry })
  }
  const messages = (pipelineId: string) => book.linesOf(pipelineId).map(({ entry }) => entry.message)
  return { book, add, messages, pass: (ms: number) => (nowMs += ms) }
}

describe('the log book', () => {
  it('keeps about a thousand lines of a pipeline, the newest ones', () => {
    const { add, messages } = setUp()
    for (let n = 0; n < 5000; n++) add('a', String(n))
    expect(messages('a').at(-1)).toBe('4999')
    expect(messages('a').length).toBeGreaterThanOrEqual(1000)
    expect(messages('a').length).toBeLessThanOrEqual(1100)
  })

  it('forgets the pipelines first that have been silent for longest, in a time that does not grow with them', () => {
    const { add, messages } = setUp()
    const from = performance.now()
    for (let n = 0; n < 200_000; n++) add(`pl_${n}`, 'x'.repeat(100))
    // Four seconds on a slow machine; looking through all that are kept, for each that is forgotten, would take minutes.
    expect(performance.now() - from).toBeLessThan(limitMs(15_000))
    expect(messages('pl_0')).toEqual([])
    expect(messages('pl_199999')).toHaveLength(1)
  })

  it('forgets what is older than a day', () => {
    const { add, messages, pass } = setUp()
    add('a', 'old')
    pass(23 * 3_600_000)
    add('a', 'new')
    pass(2 * 3_600_000)
    expect(messages('a')).toEqual(['new'])
    pass(30 * 3_600_000)
    expect(messages('a')).toEqual([])
  })

  it('calls those that listen, and no longer when they stop', () => {
    const { book, add } = setUp()
    let calls = 0
    const stop = book.listen('a', () => calls++)
    add('a', 'x')
    add('b', 'x')
    stop()
    add('a', 'x')
    expect(calls).toBe(1)
  })
})
