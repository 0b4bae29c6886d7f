/** Resolves a definition to what a lane needs: compiled modules and init documents. */
import { runIdOf, type PipelineDefinition } from '../../../shared/model/definition.ts'
import { outputPrefixOf } from '../../../shared/model/framing.ts'
import { initDocumentOf } from '../../../shared/smartmodule/abi.ts'
import type { LaneChain, LaneStep } from '../lane/messages.ts'
import type { Definitions } from './definitions.ts'

/** Batches are cut below the broker's default `max.message.bytes`: larger ones cost consumers memory without making them faster. */
const SINK_BATCH_BYTES_MAX = 1_000_000

/** Between steps values have no frame; the last step adds the sink's. Throws when a SmartModule has not arrived or does not compile. */
export async function chainOf(definition: PipelineDefinition, task: number, definitions: Definitions): Promise<LaneChain> {
  const steps: LaneStep[] = []
  for (const [index, step] of definition.steps.entries()) {
    const isLast = index === definition.steps.length - 1
    const output_prefix = isLast ? outputPrefixOf(definition) : ''
    const at = { pipeline: definition.pipeline_id, step: index, isFirst: index === 0, output_prefix }
    steps.push({
      name: step.name,
      version: step.version,
      sha256: step.sha256,
      module: await definitions.smartModule(step.sha256),
      kind: step.kind,
      extismFunction: step.extism_function,
      document: initDocumentOf(step, at),
      onError: step.on_error,
      timeoutMs: step.timeout_ms,
    })
  }
  return {
    runId: runIdOf(definition),
    pipelineId: definition.pipeline_id,
    task,
    revision: definition.revision,
    sourceTopic: definition.source_topic,
    steps,
    reframeSchemaId: definition.sink_schema_id,
    sinkBatchBytesMax: Math.min(SINK_BATCH_BYTES_MAX, definition.sink_bytes_max),
    sinkRecordBytesMax: definition.sink_bytes_max,
    deadLetterBytesMax: definition.dead_letter_bytes_max,
    compression: definition.compression,
    job: definition.job,
    sourceCodec: definition.source_codec,
    sinkCodec: definition.sink_codec,
  }
}
