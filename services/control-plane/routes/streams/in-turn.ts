/**
 * Changes of one stream one after the other, so that the registry is asked only for a change that nothing else is about to refuse. Holds
 * for this process; between two of them the row's lock decides.
 */
const underWay = new Map<string, Promise<unknown>>()

/** Runs `work` when earlier work on the stream has ended, however it ended. */
export async function inTurn<T>(streamId: string, work: () => Promise<T>): Promise<T> {
  const mine = (underWay.get(streamId) ?? Promise.resolve()).then(work, work)
  underWay.set(streamId, mine)
  try {
    return await mine
  } finally {
    if (underWay.get(streamId) === mine) underWay.delete(streamId)
  }
}
