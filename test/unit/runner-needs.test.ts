/** What runners ask their supervisor for: each SmartModule once, one thing at a time, answered at the pace that they read at. */
import { describe, expect, it } from 'vitest'
import type { FromRunner } from '../../services/processor/channel/protocol.ts'
import { createDefinitions } from '../../services/processor/runner/definitions.ts'
import { createAnswers } from '../../services/processor/supervisor/answers.ts'

const EMPTY_MODULE = Buffer.from([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0])

describe('a runner', () => {
  it('asks for a SmartModule once, however many tasks start with it, and for one thing at a time', async () => {
    const asked: string[] = []
    let open = 0
    const { definitions, onBytes, onAnswer } = createDefinitions((value: FromRunner) => {
      if (value.type !== 'need') return
      asked.push(value.sha256)
      expect(++open).toBe(1)
      setTimeout(() => {
        open--
        if (value.sha256 === 'missing') return onAnswer({ type: 'answer', id: value.id, value: null })
        onBytes(EMPTY_MODULE)
        onAnswer({ type: 'binary', id: value.id })
      }, 1)
    })
    const start = async () => {
      for (const sha256 of ['first', 'second', 'third']) await definitions.smartModule(sha256)
    }
    await Promise.all(Array.from({ length: 100 }, start))
    expect(asked).toEqual(['first', 'second', 'third'])
    // One that has not arrived is asked for again later.
    await expect(definitions.smartModule('missing')).rejects.toThrow('is not among what the supervisor has')
    await expect(definitions.smartModule('missing')).rejects.toThrow('is not among what the supervisor has')
    expect(asked.filter((sha256) => sha256 === 'missing')).toHaveLength(2)
  })
})

describe('a supervisor', () => {
  it('answers once what it answered before has left', async () => {
    const answered: number[] = []
    const left: (() => void)[] = []
    const ask = createAnswers<number>({
      answer: (need) => answered.push(need),
      flushed: () => new Promise((resolve) => left.push(resolve)),
      onFlood: (reason) => expect.unreachable(reason),
    })
    for (let need = 1; need <= 3; need++) ask(need)
    await expect.poll(() => answered).toEqual([1])
    left[0]!()
    await expect.poll(() => answered).toEqual([1, 2])
  })

  it('gives up on a runner that asks without waiting', () => {
    const floods: string[] = []
    const ask = createAnswers<number>({ answer: () => {}, flushed: async () => {}, onFlood: (reason) => floods.push(reason) })
    for (let need = 1; need <= 100; need++) ask(need)
    expect(floods).toEqual([])
    ask(101)
    expect(floods).toHaveLength(1)
  })
})
