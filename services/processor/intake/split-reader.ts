/** Reads ahead in the splits of one assignment, each in its own order, up to a byte limit, and hands over what has arrived. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { SeenView } from '../../../shared/connectors/seen-entries.ts'
import type { OpenSource, SourceRead } from '../../../shared/connectors/source.ts'

export type SplitRead = { split: number; read: SourceRead }

export type SplitReader = {
  /** All that has arrived, as soon as there is something; undefined when every split has reached its end. Rejects with a split's error. */
  take(): Promise<SplitRead[] | undefined>
  close(): Promise<void>
}

/** How long reads, and their source, have to end: a silent server, or a driver that is deaf to its signal, must not hold the task. */
export const CLOSE_MS = 5000
/** Above this many bytes read and not yet taken, of all splits together, each split waits after its next read. */
const AHEAD_BYTES = 8 << 20

export function openSplitReader(
  source: OpenSource,
  splits: readonly number[],
  count: number,
  positionOf: (split: number) => string | undefined,
  seenOf: (split: number) => SeenView,
): SplitReader {
  const stop = new AbortController()
  const ready: SplitRead[] = []
  let bytes = 0
  let running = splits.length
  let failure: unknown
  let wake: (() => void) | undefined
  let resume: (() => void)[] = []

  async function follow(split: number): Promise<void> {
    for await (const read of source.read({ index: split, count }, positionOf(split), seenOf(split), stop.signal)) {
      if (stop.signal.aborted) return
      ready.push({ split, read })
      // A block of empty values keeps its spans too, which are the front of a larger buffer.
      bytes += read.block.bytes.length + read.block.spans.buffer.byteLength
      wake?.()
      while (bytes > AHEAD_BYTES && !stop.signal.aborted) await new Promise<void>((resolve) => resume.push(resolve))
    }
  }
  const following = splits.map((split) =>
    follow(split)
      .catch((error: unknown) => {
        if (!stop.signal.aborted) failure ??= error
      })
      .finally(() => {
        running--
        wake?.()
      }),
  )

  return {
    async take() {
      // Reads that arrived before a split failed are still valid.
      while (ready.length === 0 && failure === undefined && running > 0 && !stop.signal.aborted)
        await new Promise<void>((resolve) => (wake = resolve))
      if (ready.length > 0) {
        const taken = ready.splice(0)
        bytes = 0
        resume.splice(0).forEach((each) => each())
        return taken
      }
      if (failure !== undefined) throw failure
      return undefined
    },
    async close() {
      stop.abort()
      resume.forEach((each) => each())
      resume = []
      wake?.()
      // What a read gives after this is dropped: the signal is aborted.
      await Promise.race([Promise.all(following), sleep(CLOSE_MS, undefined, { ref: false })])
    },
  }
}
