/**
 * What a lane tells the watchdog on the main thread about the call under way, in shared memory: whether there is one, and over which
 * records, so that a call which never returns still names its suspects.
 */

/** `words`: [grows, odd while inside a SmartModule; step; partition, -1 while starting; chain]. `offsets`: [.., .., first, last]. */
export type CallWatch = { words: Int32Array; offsets: BigInt64Array }

const CALLS = 0
const STEP = 1
const PARTITION = 2
const CHAIN = 3
const FIRST = 2
const LAST = 3
export const WATCH_BYTES = 64

export function callWatchOver(shared: SharedArrayBuffer = new SharedArrayBuffer(WATCH_BYTES)): CallWatch {
  return { words: new Int32Array(shared), offsets: new BigInt64Array(shared) }
}

/** A chain's turn begins. */
export function enterChain({ words }: CallWatch, chainId: number): void {
  Atomics.store(words, CHAIN, chainId)
}

/** An instance of the step is being started. */
export function enterStart({ words }: CallWatch, step: number): void {
  words[STEP] = step
  words[PARTITION] = -1
  Atomics.add(words, CALLS, 1)
}

/** A call into the step begins, over the records between two deltas of the batch. */
export function enterCall({ words, offsets }: CallWatch, step: number, partition: number, base: bigint, first: number, last: number): void {
  words[STEP] = step
  words[PARTITION] = partition
  offsets[FIRST] = base + BigInt(first)
  offsets[LAST] = base + BigInt(last)
  Atomics.add(words, CALLS, 1)
}

export function leaveCall({ words }: CallWatch): void {
  Atomics.add(words, CALLS, 1)
}

/** A call that is many calls (one a record) has come back from one of them. */
export function stillAlive({ words }: CallWatch): void {
  Atomics.add(words, CALLS, 2)
}

/** Id of the chain whose turn it was last. */
export const lastChain = ({ words }: CallWatch): number => Atomics.load(words, CHAIN)

/** The call under way as the watchdog sees it; undefined between calls. `number` differs from call to call. */
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
