/** Rounds that were fetched and not committed: their bytes go back to the budget, and their records count as in flight. */
import type { FetchedRound } from './fetch.ts'

export function createRoundsUnderWay(onInFlight: (records: number) => void) {
  const rounds = new Set<FetchedRound>()
  /** Records of the cut round that have been run: no longer in flight. Reported with the next part, which is added as the same round. */
  let doneOfCut = 0
  function report(): void {
    let records = 0
    for (const { batches } of rounds) for (const batch of batches) records += batch.records
    onInFlight(Math.max(0, records - doneOfCut))
  }
  return {
    add(round: FetchedRound): void {
      rounds.add(round)
      report()
    },
    /** So many records of the oldest round have been run, which is cut into parts. */
    setDone(records: number): void {
      doneOfCut = records
    },
    /** The whole round has been run, and committed or handed to the row writer. */
    close(round: FetchedRound): void {
      round.release()
      rounds.delete(round)
      report()
    },
    closeAll(): void {
      for (const round of rounds) round.release()
      rounds.clear()
      onInFlight(0)
    },
  }
}
