/** Resolves a definition to what a lane needs: compiled modules and init documents. */
import { runIdOf, sourceCodecOf, type CanaryDefinition, type PipelineDefinition } from '../../../shared/model/definition.ts'
import { frameIdOf, outputPrefixOf } from '../../../shared/model/framing.ts'
import { LIMITS } from '../../../shared/model/limits.ts'
import { initDocumentOf } from '../../../shared/smartmodule/abi.ts'
import type { LaneChain, LaneStep, LaneVersion } from '../lane/messages.ts'
import type { RunnerDefinitions } from './definitions.ts'

/** What an external sink may be given of one record: as much as a topic takes. */
const EXTERNAL_RECORD_BYTES_MAX = LIMITS.topic_batch_bytes_max

/** Batches are cut below the broker's default `max.message.bytes`: larger ones cost consumers memory without making them faster. */
const SINK_BATCH_BYTES_MAX = 1_000_000

type Pinned = PipelineDefinition['steps'][number] | CanaryDefinition

async function versionOf(pinned: Pinned, at: Parameters<typeof initDocumentOf>[1], definitions: RunnerDefinitions): Promise<LaneVersion> {
  const { version, sha256, kind, extism_function } = pinned
  const module = await definitions.smartModule(sha256)
  return { version, sha256, module, kind, extismFunction: extism_function, document: initDocumentOf(pinned, at) }
}

/** Between steps values have no frame; the last step adds the sink's. Throws when a SmartModule has not arrived or does not compile. */
export async function chainOf(definition: PipelineDefinition, task: number, definitions: RunnerDefinitions): Promise<LaneChain> {
  const { sink } = definition
  const steps: LaneStep[] = []
  for (const [index, step] of definition.steps.entries()) {
    const isLast = index === definition.steps.length - 1
    const output_prefix = isLast ? outputPrefixOf(sink) : ''
    const at = { pipeline: definition.pipeline_id, step: index, isFirst: index === 0, output_prefix }
    const { name, on_error, timeout_ms, canary } = step
    steps.push({
      ...(await versionOf(step, at, definitions)),
      name,
      onError: on_error,
      timeoutMs: timeout_ms,
      ...(canary ? { canary: { ...(await versionOf(canary, at, definitions)), share: canary.share, maxFailing: canary.max_failing } } : {}),
    })
  }
  const bytesMax = sink.kind === 'topic' ? sink.bytes_max : EXTERNAL_RECORD_BYTES_MAX
  return {
    accountId: definition.account_id,
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
    sinkNeedsKeys: sink.kind === 'topic' && sink.is_compacted,
    sinkOnError: sink.on_error,
    job: definition.job,
    sourceCodec: sourceCodecOf(definition),
    sinkCodec: sink.kind === 'topic' ? sink.codec : undefined,
  }
}
