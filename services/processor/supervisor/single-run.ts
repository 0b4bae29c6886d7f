/** Work of which one run goes on at a time. */
import { errorOf } from '../../../shared/errors/reason-of.ts'

export function singleRun(work: () => Promise<void>, onError: (error: Error) => void) {
  let going: Promise<void> | undefined
  /** Begins a run unless one is going on; resolves when that one has ended, however it ended. */
  const run = (): Promise<void> =>
    (going ??= work()
      .catch((error: unknown) => onError(errorOf(error)))
      .finally(() => (going = undefined)))
  return {
    run,
    /** A run that sees all there is: one that is going on ends before. */
    async last(): Promise<void> {
      await going
      await run()
    },
  }
}
