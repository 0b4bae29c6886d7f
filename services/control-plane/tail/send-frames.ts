/** Sends frames to a client for as long as it listens, at a pace that leaves nearly all of the processor's time to others. */
import type { Listener } from '../../../shared/api/operation.ts'
import type { TailFrame, tailStreamContract } from '../../../shared/api/tail.ts'
import { reasonOf } from '../../../shared/errors/reason-of.ts'

/** Ten frames per second at most. */
const FRAME_MS = 100
/**
 * After a frame, so many times what it took passes until the next one: reading for a client must not slow the pipeline down. A frame whose
 * records are run through steps takes most of its time in a process of its own.
 */
export const PACE = { reads: 30, runs: 10 } as const
const FRAME_MAX_MS = 3000
/** While nothing can be read. */
const RETRY_MS = 1000

/** A frame and the id that a client resumes with. */
export type Frame = { frame: TailFrame; id: string; pace: number }

/**
 * Sends what `next` makes until that is `over`; undefined makes no frame. What a client does not read in time is left out, and counted in the
 * next frame.
 */
export async function sendFrames(
  { send, signal }: Listener<(typeof tailStreamContract)['events']>,
  next: () => Promise<Frame | 'over' | undefined>,
): Promise<void> {
  let left = 0
  let isWaiting = false
  while (!signal.aborted) {
    const from = performance.now()
    let pauseMs = FRAME_MS
    try {
      const made = await next()
      isWaiting = false
      if (made === 'over') return
      if (made) {
        const { records, dropped } = made.frame
        const frame = { records, dropped: dropped + left, sampled: dropped + left > 0 }
        left = send('frame', frame, made.id) ? 0 : left + dropped + records.length
        pauseMs = Math.min(Math.max(FRAME_MS, (performance.now() - from) * made.pace), FRAME_MAX_MS)
      }
    } catch (error) {
      if (!isWaiting) send('waiting', { reason: reasonOf(error).slice(0, 300) })
      isWaiting = true
      pauseMs = RETRY_MS
    }
    await pause(pauseMs, signal)
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    signal.addEventListener('abort', done)
    if (signal.aborted) done()
  })
}
