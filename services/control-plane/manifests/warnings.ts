/** What of a manifest can be applied, and may not be meant. Pure. */
import type { PipelinePart } from '../../../shared/api/manifests.ts'
import type { Detail } from '../service-error.ts'
import { pointerTo } from './plan.ts'

/** What of a manifest is looked at. */
type Ends = { pipelines: Record<string, Pick<PipelinePart, 'source' | 'sink'>> }
type Flow = { name: string; source: string; sink: string }

/** The pipelines that read and write streams. */
const flowsOf = ({ pipelines }: Ends): Flow[] =>
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

/** The flows without those that only streams at which nothing arrives lead to; `from` and `to` are the ends of a flow. */
function behindLoops(flows: readonly Flow[], from: 'source' | 'sink', to: 'source' | 'sink'): Flow[] {
  const arriving = new Map<string, number>()
  for (const flow of flows) arriving.set(flow[to], (arriving.get(flow[to]) ?? 0) + 1)
  const leaving = Map.groupBy(flows, (flow) => flow[from])
  // It grows while it is walked.
  const dry = new Set([...leaving.keys()].filter((stream) => !arriving.has(stream)))
  for (const stream of dry)
    for (const flow of leaving.get(stream) ?? []) {
      const left = arriving.get(flow[to])! - 1
      arriving.set(flow[to], left)
      if (left === 0) dry.add(flow[to])
    }
  return flows.filter((flow) => !dry.has(flow[from]))
}

/** So many pipelines are looked at: more of them say nothing new. */
const LOOKED_AT_MAX = 20
/** Streams of a longer way are left out in its middle. */
const SHOWN_MAX = 8

/** Pipelines whose records come back to their source: what no step filters goes round for ever. */
export function warningsIn(manifest: Ends): Detail[] {
  // What is behind loops in both directions is in them, or between two.
  const flows = behindLoops(behindLoops(flowsOf(manifest), 'source', 'sink'), 'sink', 'source')
  const bySource = Map.groupBy(flows, ({ source }) => source)
  return flows.slice(0, LOOKED_AT_MAX).flatMap((flow) => {
    const way = wayBack(flow, bySource)
    if (!way) return []
    const all = [flow.source, ...way]
    const shown = all.length > SHOWN_MAX ? [...all.slice(0, SHOWN_MAX - 2), '…', flow.source] : all
    return [
      {
        path: `${pointerTo('pipeline', flow.name)}/sink/stream`,
        message: `leads back to the source (${shown.join(' → ')}): what no step filters goes round for ever`,
      },
    ]
  })
}
