/** The thread of `poll-thread.ts`: the body of an answer in, a block of its records out. */
import { reasonOf } from '../../errors/reason-of.ts'
import { parentPort } from 'node:worker_threads'
import { ConfigRefused } from '../connector.ts'
import type { AskedPart, ThreadAnswer } from '../thread.ts'
import type { PolledApart } from './poll-thread.ts'
import { polledBlock, type Answered } from './polled-records.ts'

const reply = (answer: ThreadAnswer<PolledApart>, own: ArrayBuffer[] = []) => parentPort!.postMessage(answer, own)

parentPort!.on('message', ({ id, part }: AskedPart<Answered>) => {
  try {
    const made = polledBlock(part)
    // Transferred, not copied: a block has buffers of its own.
    reply({ id, made }, [made.block.bytes.buffer as ArrayBuffer, made.block.spans.buffer as ArrayBuffer])
  } catch (error) {
    reply(error instanceof ConfigRefused ? { id, made: { refused: error.message } } : { id, error: reasonOf(error) })
  }
})
