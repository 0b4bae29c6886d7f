/** Pipelines that made progress have written to their sink streams: their record indexes follow, so that the first page is no wait. */
import type { Deps } from '../deps.ts'

const INTERVAL_MS = 3000
const last = new Map<string, number>()

export function pokeIndexesOf({ db, streamData, log }: Pick<Deps, 'db' | 'streamData' | 'log'>, pipelineIds: string[]): void {
  const due = pipelineIds.filter((id) => Date.now() - (last.get(id) ?? 0) > INTERVAL_MS)
  if (due.length === 0) return
  if (last.size > 10_000) last.clear()
  for (const id of due) last.set(id, Date.now())
  findSinks(db, due)
    .then((streams) => streams.forEach(streamData.pokeIndex))
    .catch((error: unknown) => log.debug({ reason: String(error) }, 'an index was not extended'))
}

/** In two queries: reading a member inside json fails on a config that holds \\u0000. */
async function findSinks(db: Deps['db'], pipelineIds: string[]): Promise<{ id: string; topic: string }[]> {
  const rows: { definition: { sink_topic: string } }[] = await db('pipelines').whereIn('id', pipelineIds).select('definition')
  return db('streams')
    .whereIn(
      'topic',
      rows.map(({ definition }) => definition.sink_topic),
    )
    .select('id', 'topic')
}
