/** At which rate lines may be written: a burst, and so many per second after it. Lines beyond it are dropped, and counted. */

export type LineRate = {
  /**
   * How many lines were dropped since the last one that was written, with those `before` this line; undefined where it is dropped too.
   * `isRoom`: whether there is room for it besides.
   */
  take(before?: number, isRoom?: boolean): number | undefined
}

export function createLineRate(burst: number, perSecond: number): LineRate {
  let left = burst
  let at = performance.now()
  let dropped = 0
  return {
    take(before = 0, isRoom = true) {
      const time = performance.now()
      left = Math.min(burst, left + ((time - at) / 1000) * perSecond)
      at = time
      dropped += before
      if (left < 1 || !isRoom) {
        dropped++
        return undefined
      }
      left--
      const all = dropped
      dropped = 0
      return all
    },
  }
}
