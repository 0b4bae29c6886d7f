/** Waits for work up to a deadline, then throws 503 while the work goes on; what it leaves half done, the reconciler finishes or undoes. */
import { ServiceError } from './service-error.ts'

export const FINISH_TIMEOUT_MS = 10_000
/** The response to a failed create waits this long for the undo. */
export const UNDO_TIMEOUT_MS = 2000

export async function withDeadline<T>(work: Promise<T>, what: string, timeoutMs = FINISH_TIMEOUT_MS): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(
      () =>
        reject(
          new ServiceError('unavailable', `${what} takes longer than usual; check again in a moment`, { headers: { 'Retry-After': '5' } }),
        ),
      timeoutMs,
    )
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}
