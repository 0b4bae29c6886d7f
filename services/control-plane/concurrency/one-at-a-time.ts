/** Work on one thing, one after the other within this process; between processes a row's lock decides. */

export function createOneAtATime() {
  const underWay = new Map<string, Promise<unknown>>()
  return {
    /** Runs `work` when earlier work under the key has ended, however it ended. */
    async run<T>(key: string, work: () => Promise<T>): Promise<T> {
      const mine = (underWay.get(key) ?? Promise.resolve()).then(work, work)
      underWay.set(key, mine)
      try {
        return await mine
      } finally {
        if (underWay.get(key) === mine) underWay.delete(key)
      }
    },
    isBusy: (key: string): boolean => underWay.has(key),
    /** Resolves when all work that is under way has ended. */
    async settled(): Promise<void> {
      await Promise.allSettled(underWay.values())
    },
  }
}
