/** Answers of another system that are not waited for once a signal is aborted. */
import { errorOf } from '../errors/reason-of.ts'

/** What `work` gives. Rejects with the signal's reason as soon as it is aborted; what `work` gives after that is dropped. */
export async function untilAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  const aborted = Promise.withResolvers<never>()
  const giveUp = (): void => aborted.reject(errorOf(signal.reason))
  if (signal.aborted) giveUp()
  else signal.addEventListener('abort', giveUp, { once: true })
  try {
    return await Promise.race([work, aborted.promise])
  } finally {
    signal.removeEventListener('abort', giveUp)
  }
}
