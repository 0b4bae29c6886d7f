/**
 * Shared memory in which a lane shows its current call to the watchdog on the main thread: whether there is one, and over which records,
 * so that the records of a call that never returns are known.
 */

import type { SendRequest } from '../../model/plug-in-http.ts'

/**
 * Two views of the same memory. `words`: [a counter, odd during a call; step; partition, -1 while starting; chain id], and at index 8
 * whether the call waits for an answer. `offsets`: the call's first and last offset, at indexes 2 and 3, because 0 and 1 overlap the words.
 */
export type CallWatch = { words: Int32Array; offsets: BigInt64Array }

const CALLS = 0
const STEP = 1
const PARTITION = 2
const CHAIN = 3
const WAITING = 8
const FIRST = 2
const LAST = 3
/** Size of the shared memory in bytes. */
export const WATCH_BYTES = 64

/** Views of the shared memory, which the lane and the watchdog each open. */
export function callWatchOver(shared: SharedArrayBuffer = new SharedArrayBuffer(WATCH_BYTES)): CallWatch {
  return { words: new Int32Array(shared), offsets: new BigInt64Array(shared) }
}

/** Marks the start of a chain's turn. */
export function enterChain({ words }: CallWatch, chainId: number): void {
  Atomics.store(words, CHAIN, chainId)
}

/** Marks that an instance of the step (from 0) is being started. */
export function enterStart({ words }: CallWatch, step: number): void {
  words[STEP] = step
  words[PARTITION] = -1
  Atomics.add(words, CALLS, 1)
}

/** Marks the start of a call into the step, over the records at offsets `base` + `first` to `base` + `last`. */
export function enterCall({ words, offsets }: CallWatch, step: number, partition: number, base: bigint, first: number, last: number): void {
  words[STEP] = step
  words[PARTITION] = partition
  offsets[FIRST] = base + BigInt(first)
  offsets[LAST] = base + BigInt(last)
  Atomics.add(words, CALLS, 1)
}

/** Marks the end of a call or of a start. */
export function leaveCall({ words }: CallWatch): void {
  Atomics.add(words, CALLS, 1)
}

/** Marks progress in a call that calls a plug-in once per record: one of these has returned. */
export function stillAlive({ words }: CallWatch): void {
  Atomics.add(words, CALLS, 2)
}

/** As `send`; while its answer is waited for, the call takes no time of its own. */
export const watchedSend =
  (send: SendRequest, { words }: CallWatch): SendRequest =>
  async (request) => {
    Atomics.store(words, WAITING, 1)
    try {
      return await send(request)
    } finally {
      Atomics.store(words, WAITING, 0)
    }
  }

/** Whether the current call waits for the answer to a request, which comes within `REQUEST_MS_MAX`. */
export const isWaiting = ({ words }: CallWatch): boolean => Atomics.load(words, WAITING) === 1

/** Id of the chain whose turn started last. */
export const lastChain = ({ words }: CallWatch): number => Atomics.load(words, CHAIN)

/** The current call, undefined between calls; `number` changes with every call and with every sign of progress. */
export function callUnderWay({ words, offsets }: CallWatch) {
  const number = Atomics.load(words, CALLS)
  if ((number & 1) === 0) return undefined
  return {
    number,
    step: Atomics.load(words, STEP),
    partition: Atomics.load(words, PARTITION),
    chainId: Atomics.load(words, CHAIN),
    first: Atomics.load(offsets, FIRST),
    last: Atomics.load(offsets, LAST),
  }
}
