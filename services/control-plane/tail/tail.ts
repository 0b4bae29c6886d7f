/** A tail of one client: from the place that it looks at to the frames that it gets, as long as it listens. */
import type { Events } from '../../../shared/api/operation.ts'
import type { tailStreamContract } from '../../../shared/api/tail.ts'
import type { TopicLayout } from '../../../shared/kafka/cluster.ts'
import type { PipelineDefinition } from '../../../shared/model/definition.ts'
import type { Deps } from '../deps.ts'
import { unavailable } from '../service-error.ts'
import { frameOf } from './frames.ts'
import type { Place } from './places.ts'
import { PACE, sendFrames } from './send-frames.ts'
import { openTopicReader, type TopicReader } from './topic-reader.ts'

/** Records of one frame. */
const RECORDS_MAX = 50
/** How often it is looked at whether the place is another one: a revision has another sink or other steps, a topic more partitions. */
const REFRESH_MS = 3000

export type TailOptions = {
  accountId: string
  filter: PipelineDefinition['steps'][number] | undefined
  last: number
  /** The place as it is now; undefined once it is gone, which ends the tail. */
  place(): Promise<Place | undefined>
}

const isSameTopic = (a: TopicLayout, b: TopicLayout): boolean => a.topicId === b.topicId && a.leaders.length === b.leaders.length

export function tail(
  deps: Pick<Deps, 'db' | 'cluster' | 'sourceReader' | 'cacheFolder' | 'workshop'>,
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
      const now = await deps.cluster.describeTopic(found.topic)
      if (!now || now.leaders.includes(-1)) throw unavailable('the topic')
      if (!reader || !layout || !isSameTopic(layout, now)) {
        const isFirst = !reader
        reader = await openTopicReader(deps, now, isFirst ? listener.lastEventId : undefined, isFirst ? last : 0)
      }
      layout = now
      place = found
      refreshAt = performance.now() + REFRESH_MS
      return true
    }

    await sendFrames(listener, async () => {
      if (!(await refresh())) return 'over'
      const look = await reader!.look(RECORDS_MAX)
      if (!look) return undefined
      const isRun = filter !== undefined || place!.steps.length > 0
      const records = await frameOf(deps, accountId, place!, filter, look.records)
      if (records.length === 0 && look.dropped === 0) return undefined
      return { frame: { records, dropped: look.dropped, sampled: look.dropped > 0 }, id: look.id, pace: isRun ? PACE.runs : PACE.reads }
    })
  }
}
