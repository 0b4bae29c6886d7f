/** Sends frames to a client for as long as it listens, at a pace that leaves nearly all CPU time to others. */
import type { Listener } from '../../../shared/api/contract.ts'
import type { TailFrame, tailStreamContract } from '../../../shared/api/tail.ts'

/** Ten frames per second at most. */
const FRAME_MS = 100
/**
 * So many times what a look took passes until the next one, most of which was waiting for Kafka: reading for a client must not slow the
 * pipeline down.
 */
const REST_FACTOR = 10
const PAUSE_MAX_MS = 1000
/** While nothing can be read. */
const RETRY_MS = 1000

/** A frame and the id that a client resumes with; `isPaced`: what made it has limited already how often. */
export type Frame = { frame: Omit<TailFrame, 'sampled'>; id: string; isPaced: boolean }

/**
 * Sends what `next` makes until that is `over`; undefined makes no frame. `next` is asked only while the client reads. Errors are told as
 * `reasonOf` puts them.
 */
export async function sendFrames(
  { send, room, signal }: Listener<(typeof tailStreamContract)['events']>,
  next: () => Promise<Frame | 'over' | undefined>,
  reasonOf: (error: unknown) => string,
): Promise<void> {
  let isWaiting = false
  while (await room()) {
    const from = performance.now()
    let pauseMs = RETRY_MS
    try {
      const made = await next()
      isWaiting = false
      if (made === 'over') return
      if (made) send('frame', { ...made.frame, sampled: made.frame.dropped > 0 }, made.id)
      pauseMs = made?.isPaced ? FRAME_MS : Math.min(Math.max(FRAME_MS, (performance.now() - from) * REST_FACTOR), PAUSE_MAX_MS)
    } catch (error) {
      if (!isWaiting) send('waiting', { reason: reasonOf(error) })
      isWaiting = true
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
