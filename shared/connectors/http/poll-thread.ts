/** Takes large answers apart in a thread of its own: 28 MiB of small records take more than a second. */
import { ConfigRefused } from '../connector.ts'
import { openThread } from '../thread.ts'
import { untilAborted } from '../../waiting/until-aborted.ts'
import { polledBlock, type Answered, type PolledBlock } from './polled-records.ts'

/** The block's bytes are plain ones behind a message. `refused` is the message of a ConfigRefused. */
export type PolledApart =
  | (Omit<PolledBlock, 'block'> & { block: { bytes: Uint8Array; spans: Int32Array; count: number } })
  | { refused: string }

/** Smaller answers take a few milliseconds, less than a thread costs. */
const LARGE_BYTES = 128 << 10

/** What takes answers apart. */
export type AnswerReader = {
  /** What `polledBlock` makes of the answer, and throws. Rejects with the signal's reason once that is aborted. */
  read(answered: Answered, signal: AbortSignal): Promise<PolledBlock>
  close(): Promise<void>
}

/** Starts the thread at the first large answer. */
export function openAnswerReader(): AnswerReader {
  const thread = openThread<Answered, PolledApart>(new URL('./poll-worker.ts', import.meta.url), 'polling')
  return {
    async read(answered, signal) {
      if (answered.body.length < LARGE_BYTES) return polledBlock(answered)
      signal.throwIfAborted()
      const made = await untilAborted(signal, thread.ask([answered]))
      if ('refused' in made) throw new ConfigRefused(made.refused)
      const { bytes, spans, count } = made.block
      return { ...made, block: { bytes: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), spans, count } }
    },
    close: thread.close,
  }
}
