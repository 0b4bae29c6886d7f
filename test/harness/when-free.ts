/** Work with a time limit, tried again where the machine was too busy for it (`runBounded`): that says nothing about the work. */

const isBusy = (error: unknown): boolean => (error as { status?: number }).status === 503

/** What the work returns or throws. */
export function whenFree<T>(work: () => T): T {
  for (;;)
    try {
      return work()
    } catch (error) {
      if (!isBusy(error)) throw error
    }
}

/** What the work's promise comes to; `beforeNext` is called before it is tried again. */
export async function laterWhenFree<T>(work: () => Promise<T>, beforeNext: () => void = () => {}): Promise<T> {
  for (;;)
    try {
      return await work()
    } catch (error) {
      if (!isBusy(error)) throw error
      beforeNext()
    }
}

/** What the work throws. */
export const refusalWhenFree = (work: () => Promise<void>, beforeNext?: () => void): Promise<unknown> =>
  laterWhenFree(work, beforeNext).then(
    () => 'not refused',
    (error: unknown) => error,
  )
