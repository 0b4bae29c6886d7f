/** Pipelines that made progress have written to their sink streams: their record indexes follow, so that the first page is no wait. */
import type { Deps } from '../deps.ts'

const INTERVAL_MS = 3000
const last = new Map<string, number>()

export function pokeIndexesOf({ db, streamData, log }: Pick<Deps, 'db' | 'streamData' | 'log'>, pipelineIds: string[]): void {
  const due = pipelineIds.filter((id) => Date.now() - (last.get(id) ?? 0) > INTERVAL_MS)
  if (due.length === 0) return
  if (last.size > 10_000) last.clear()
  for (const id of due) last.set(id, Date.now())
  db('pipelines')
    .join('streams', 'streams.topic', db.raw(`pipelines.definition->>'sink_topic'`))
    .whereIn('pipelines.id', due)
    .select('streams.id', 'streams.topic')
    .then((streams: { id: string; topic: string }[]) => streams.forEach(streamData.pokeIndex))
    .catch((error: unknown) => log.debug({ reason: String(error) }, 'an index was not extended'))
}
