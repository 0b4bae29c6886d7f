/** What of a manifest can be applied, and may not be meant. Pure. */
import type { Manifest } from '../../../shared/api/manifests.ts'
import type { Detail } from '../service-error.ts'
import { pointerTo } from './plan.ts'

type Flow = { name: string; source: string; sink: string }

/** The pipelines that read and write streams. */
const flowsOf = ({ pipelines }: Pick<Manifest, 'pipelines'>): Flow[] =>
  Object.entries(pipelines).flatMap(([name, { source, sink }]) =>
    'stream' in source && 'stream' in sink ? [{ name, source: source.stream, sink: sink.stream }] : [],
  )

/** The streams on the way from the pipeline's sink back to its source; undefined where none leads there. */
function wayBack({ source, sink }: Flow, bySource: ReadonlyMap<string, readonly Flow[]>): string[] | undefined {
  const cameFrom = new Map<string, string | undefined>([[sink, undefined]])
  for (const stream of cameFrom.keys()) {
    if (stream === source) {
      const way: string[] = []
      for (let at: string | undefined = stream; at !== undefined; at = cameFrom.get(at)) way.unshift(at)
      return way
    }
    for (const next of bySource.get(stream) ?? []) if (!cameFrom.has(next.sink)) cameFrom.set(next.sink, stream)
  }
  return undefined
}

/** Pipelines whose records come back to their source: what no step filters goes round for ever. */
export function warningsIn(manifest: Pick<Manifest, 'pipelines'>): Detail[] {
  const flows = flowsOf(manifest)
  const bySource = Map.groupBy(flows, ({ source }) => source)
  return flows.flatMap((flow) => {
    const way = wayBack(flow, bySource)
    if (!way) return []
    const streams = [flow.source, ...way].join(' → ')
    return [
      {
        path: `${pointerTo('pipeline', flow.name)}/sink/stream`,
        message: `leads back to the source (${streams}): what no step filters goes round for ever`,
      },
    ]
  })
}
