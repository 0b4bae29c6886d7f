/** What makes a resource, and fails: what is removed of it, and when. */
import { expect, it, vi } from 'vitest'
import { finishOrUndo } from '../../services/control-plane/concurrency/with-deadline.ts'

const refused = () => Promise.reject(new Error('Kafka refused'))
const undoing = (beginUndo: () => Promise<boolean>) => ({ beginUndo, undo: vi.fn(async () => {}), onLeft: vi.fn() })

it('what could not be made is undone, once that is noted', async () => {
  const { beginUndo, undo, onLeft } = undoing(async () => true)
  await expect(finishOrUndo(refused(), 'making it', { beginUndo, undo, onLeft })).rejects.toThrow('Kafka refused')
  expect([undo, onLeft].map((each) => each.mock.calls.length)).toEqual([1, 0])
})

it('nothing is removed where it can’t be noted: it may have been made after all, and is looked at later', async () => {
  const { beginUndo, undo, onLeft } = undoing(() => Promise.reject(new Error('Postgres is away')))
  await expect(finishOrUndo(refused(), 'making it', { beginUndo, undo, onLeft })).rejects.toThrow('Kafka refused')
  expect([undo, onLeft].map((each) => each.mock.calls.length)).toEqual([0, 1])
})

it('nothing is removed of what was made meanwhile', async () => {
  const { beginUndo, undo, onLeft } = undoing(async () => false)
  await expect(finishOrUndo(refused(), 'making it', { beginUndo, undo, onLeft })).rejects.toThrow('Kafka refused')
  await finishOrUndo(Promise.resolve(), 'making it', { beginUndo, undo, onLeft })
  expect([undo, onLeft].map((each) => each.mock.calls.length)).toEqual([0, 0])
})

it('an undo that fails is left for later, and the reason stays the first one', async () => {
  const onLeft = vi.fn()
  const undo = () => Promise.reject(new Error('still away'))
  await expect(finishOrUndo(refused(), 'making it', { beginUndo: async () => true, undo, onLeft })).rejects.toThrow('Kafka refused')
  expect(onLeft.mock.calls).toEqual([[new Error('still away')]])
})
