/** Waits for work up to a deadline, then throws 503 while the work goes on; what it leaves half done, the reconciler finishes or undoes. */
import { inTime } from '../../../shared/waiting/in-time.ts'
import { ServiceError } from '../service-error.ts'

const FINISH_TIMEOUT_MS = 10_000
/** The response to a failed create waits this long for the undo. */
const UNDO_TIMEOUT_MS = 2000

export function withDeadline<T>(work: Promise<T>, what: string, timeoutMs = FINISH_TIMEOUT_MS): Promise<T> {
  const message = `${what} takes longer than usual; check again in a moment`
  return inTime(work, timeoutMs, () => new ServiceError('unavailable', message, { headers: { 'Retry-After': '5' } }))
}

/** `beginUndo`: false where the resource is not being created any more. `onLeft`: the reconciler undoes it later. */
export type Undoing = { beginUndo(): Promise<boolean>; undo(): Promise<void>; onLeft(reason: unknown): void }

/**
 * Waits for what makes a resource; throws what it throws, or 503 at the deadline, after nothing is left half done if possible. The undo
 * waits until `making` has ended, so that nothing is made behind it.
 */
export async function finishOrUndo(making: Promise<void>, what: string, { beginUndo, undo, onLeft }: Undoing): Promise<void> {
  try {
    await withDeadline(making, what)
  } catch (error) {
    // It was made just after the deadline, or something else ended its making.
    const isBegun = await beginUndo().catch((reason: unknown) => {
      // Perhaps it is made: nothing is removed of what is not known to be undone.
      onLeft(reason)
      throw error
    })
    if (!isBegun) return withDeadline(making, what, UNDO_TIMEOUT_MS)
    const undone = making.catch(() => {}).then(undo)
    await withDeadline(undone, 'undoing it', UNDO_TIMEOUT_MS).catch(onLeft)
    throw error
  }
}
