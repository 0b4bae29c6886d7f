/**
 * Pipelines that made progress have written to their sink streams and perhaps to their dead-letter topics: this extends the projections
 * of both in Postgres in the background, so that the first page does not have to wait.
 */
import { reasonOf } from '../../../shared/errors/reason-of.ts'
import { listDefinitions } from '../store/pipelines.ts'
import { listStreamsOver } from '../store/streams.ts'
import type { Deps } from '../deps.ts'

const INTERVAL_MS = 3000
const last = new Map<string, number>()

export function notifyProjectionsOf(deps: Pick<Deps, 'db' | 'streamData' | 'deadLetters' | 'log'>, pipelineIds: string[]): void {
  const due = pipelineIds.filter((id) => performance.now() - (last.get(id) ?? -Infinity) > INTERVAL_MS)
  if (due.length === 0) return
  if (last.size > 10_000) last.clear()
  for (const id of due) last.set(id, performance.now())
  notify(deps, due).catch((error: unknown) => deps.log.debug({ reason: reasonOf(error) }, 'a projection was not extended'))
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
