/** Binaries that no version, no revision of a pipeline and no job uses any more are deleted, and processors forget them; once an hour. */
import { sweepBinaries } from '../store/smartmodules.ts'
import type { Deps } from '../deps.ts'
import { oncePerInterval } from './once-per-interval.ts'

const EVERY_MS = 3_600_000

/** What the reconciler calls on every pass; it does its work once an hour. */
export const createBinarySweeper = ({ db, notifyPublisher }: Pick<Deps, 'db' | 'notifyPublisher'>) =>
  oncePerInterval(
    EVERY_MS,
    () => Promise.resolve([db]),
    async () => {
      await db.transaction((trx) => sweepBinaries(trx))
      notifyPublisher()
    },
  )
