/** Resolves a definition to what a lane needs: compiled modules and init documents. */
import { runIdOf, sourceCodecOf, type PipelineDefinition } from '../../../shared/model/definition.ts'
import { frameIdOf, outputPrefixOf } from '../../../shared/model/framing.ts'
import { LIMITS } from '../../../shared/model/limits.ts'
import { initDocumentOf } from '../../../shared/smartmodule/abi.ts'
import type { LaneChain, LaneStep } from '../lane/messages.ts'
import type { Definitions } from './definitions.ts'

/** What an external sink may be given of one record: as much as a topic takes. */
const EXTERNAL_RECORD_BYTES_MAX = LIMITS.topic_batch_bytes_max

/** Batches are cut below the broker's default `max.message.bytes`: larger ones cost consumers memory without making them faster. */
const SINK_BATCH_BYTES_MAX = 1_000_000

/** Between steps values have no frame; the last step adds the sink's. Throws when a SmartModule has not arrived or does not compile. */
export async function chainOf(definition: PipelineDefinition, task: number, definitions: Definitions): Promise<LaneChain> {
  const { sink } = definition
  const steps: LaneStep[] = []
  for (const [index, step] of definition.steps.entries()) {
    const isLast = index === definition.steps.length - 1
    const output_prefix = isLast ? outputPrefixOf(sink) : ''
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
  const bytesMax = sink.kind === 'topic' ? sink.bytes_max : EXTERNAL_RECORD_BYTES_MAX
  return {
    runId: runIdOf(definition),
    pipelineId: definition.pipeline_id,
    task,
    revision: definition.revision,
    sourceTopic: definition.source.topic,
    steps,
    reframeSchemaId: frameIdOf(sink),
    sinkBatchBytesMax: Math.min(SINK_BATCH_BYTES_MAX, bytesMax),
    sinkRecordBytesMax: bytesMax,
    deadLetterBytesMax: definition.dead_letter_bytes_max,
    compression: sink.kind === 'topic' ? sink.compression : 'none',
    job: definition.job,
    sourceCodec: sourceCodecOf(definition),
    sinkCodec: sink.kind === 'topic' ? sink.codec : undefined,
  }
}
