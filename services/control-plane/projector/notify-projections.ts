/**
 * Pipelines that made progress have written to their sink streams and perhaps to their dead-letter topics: this extends the projections
 * of both in Postgres in the background, so that the first page does not have to wait.
 */
import { reasonOf } from '../../../shared/errors/reason-of.ts'
import { listDefinitions } from '../store/pipelines.ts'
import { listStreamsOver } from '../store/streams.ts'
import { openLruCache } from '../caches/lru-cache.ts'
import type { Deps } from '../deps.ts'

const INTERVAL_MS = 3000
const PIPELINES_MAX = 10_000

/** What is called with the ids of pipelines that have made progress; each is looked at once in `INTERVAL_MS`. */
export function createProjectionNotifier(deps: Pick<Deps, 'db' | 'streamData' | 'deadLetters' | 'log'>): (pipelineIds: string[]) => void {
  const last = openLruCache<string, number>(PIPELINES_MAX)
  return (pipelineIds) => {
    const due = pipelineIds.filter((id) => performance.now() - (last.get(id) ?? -Infinity) > INTERVAL_MS)
    if (due.length === 0) return
    for (const id of due) last.set(id, performance.now())
    notify(deps, due).catch((error: unknown) => deps.log.debug({ reason: reasonOf(error) }, 'a projection was not extended'))
  }
}

async function notify(
  { db, streamData, deadLetters }: Pick<Deps, 'db' | 'streamData' | 'deadLetters'>,
  pipelineIds: string[],
): Promise<void> {
  const pipelines = await listDefinitions(db, pipelineIds)
  const streams = await listStreamsOver(
    db,
    pipelines.flatMap(({ definition: { sink } }) => (sink.kind === 'topic' ? [sink.topic] : [])),
  )
  streams.forEach(streamData.notifyIndex)
  pipelines.forEach(deadLetters.notify)
}
