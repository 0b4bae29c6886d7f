/** A tail of one client: from the place that it looks at to the frames that it gets, as long as it listens. */
import type { Events } from '../../../shared/api/contract.ts'
import type { tailStreamContract } from '../../../shared/api/tail.ts'
import type { TopicLayout } from '../../../shared/kafka/cluster.ts'
import type { PipelineDefinition } from '../../../shared/model/definition.ts'
import type { Deps } from '../deps.ts'
import { toServiceError } from '../middleware/errors.ts'
import { createPacer, UNPACED, type Pace } from '../concurrency/pacing.ts'
import { layoutOf } from '../layout-of.ts'
import { ServiceError } from '../service-error.ts'
import type { TraceDeps } from '../trace/trace.ts'
import { runFrame, topicFrame, type Shown } from './frames.ts'
import type { Place } from './places.ts'
import { sendFrames, type Frame } from './send-frames.ts'
import { openTopicReader, type TopicReader } from './topic-reader.ts'

/** Records of one frame. */
const RECORDS_MAX = 50
/** How often it is looked at whether the place is another one: a revision has another sink or other steps, a topic other leaders. */
const REFRESH_MS = 3000

/** For looks at records as they are: an account's may take a tenth of the time, and wait for each other rather than end. */
export const createTailPacer = () => createPacer({ times: 10, waitMs: 60_000 })

export type TailOptions = {
  accountId: string
  filter: PipelineDefinition['steps'][number] | undefined
  last: number
  /** The place as it is now; undefined once it is gone, which ends the tail. */
  place(): Promise<Place | undefined>
}

export function tail(
  deps: Pick<Deps, 'cluster' | 'sourceReader' | 'runTurns' | 'tailPacer' | 'log'> & TraceDeps,
  { accountId, filter, last, place: find }: TailOptions,
): Events<(typeof tailStreamContract)['events']> {
  return async (listener) => {
    let place: Place | undefined
    let layout: TopicLayout | undefined
    let reader: TopicReader | undefined
    let refreshAt = 0

    /** False once there is nothing to look at any more. */
    async function refresh(): Promise<boolean> {
      if (performance.now() < refreshAt) return true
      const found = await find()
      if (!found) return false
      const now = await layoutOf(deps.cluster, found.topic, 'the topic')
      if (!reader || layout?.topicId !== now.topicId)
        reader = await openTopicReader(deps, now, reader ? undefined : listener.lastEventId, last)
      ;[place, layout, refreshAt] = [found, now, performance.now() + REFRESH_MS]
      return true
    }

    async function lookAt(
      isPaced: boolean,
      pace: Pace,
      show: (found: NonNullable<Awaited<ReturnType<TopicReader['look']>>>['records']) => Promise<Shown>,
    ) {
      const look = await reader!.look(layout!, RECORDS_MAX, pace)
      if (!look) return undefined
      const { records, left, undecided } = await show(look.records)
      look.keep()
      const dropped = look.dropped + left
      if (records.length === 0 && dropped === 0 && !undecided) return undefined
      return { frame: { records, dropped, ...(undecided ? { undecided } : {}) }, id: look.id, isPaced }
    }

    async function next(): Promise<Frame | 'over' | undefined> {
      if (!(await refresh())) return 'over'
      if (!filter && place!.steps.length === 0)
        return deps.tailPacer.during(accountId, async (pace) =>
          // It may have waited for longer than its client.
          listener.signal.aborted ? 'over' : lookAt(false, pace, (records) => topicFrame(place!, records, pace)),
        )
      return deps.runTurns.take(accountId, () => lookAt(true, UNPACED, (records) => runFrame(deps, accountId, place!, filter, records)))
    }

    await sendFrames(listener, next, (error) => {
      const told = toServiceError(error)
      // Nothing internal is for the client.
      if (!(error instanceof ServiceError)) deps.log.warn({ err: error }, 'a tail can’t read')
      return told.message
    })
  }
}
