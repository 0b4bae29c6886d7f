/** A pipeline's positions, as Kafka has committed them: they are exact even if nothing else runs. */
import { getPipelineOffsetsContract } from '../../../../shared/api/observability.ts'
import { layoutOf } from '../../layout-of.ts'
import type { PipelineRow } from '../../store/pipelines.ts'
import type { Deps } from '../../deps.ts'
import { getPipeline } from '../own-pipeline.ts'
import { operation } from '../operation.ts'

/** Of each partition of the source: start, position and end, and the metadata that was committed with the position. */
export async function readOffsets({ cluster }: Pick<Deps, 'cluster'>, { definition }: PipelineRow) {
  const layout = await layoutOf(cluster, definition.source.topic, 'the source’s topic')
  const partitions = layout.leaders.map((_, partition) => partition)
  const [bounds, committed] = await Promise.all([
    cluster.bounds(layout),
    cluster.committedOffsets(definition.group_id, definition.source.topic, partitions),
  ])
  return [...bounds].map(([partition, { start, end }]) => {
    const { offset, metadata } = committed.get(partition) ?? { offset: 0n, metadata: '' }
    const position = Number(offset)
    return { partition, start: Number(start), position, end: Number(end), lag: Math.max(0, Number(end) - position), metadata }
  })
}

export const getPipelineOffsetsOperation = operation(getPipelineOffsetsContract, async (deps, caller, { params }) => {
  const pipeline = await getPipeline(deps, caller, params.id)
  const partitions = await readOffsets(deps, pipeline)
  return {
    status: 200,
    body: {
      pipeline_id: pipeline.id,
      topic: pipeline.definition.source.topic,
      group_id: pipeline.definition.group_id,
      lag: partitions.reduce((sum, { lag }) => sum + lag, 0),
      partitions: partitions.map(({ partition, start, position, end, lag }) => ({ partition, start, position, end, lag })),
    },
  }
})
