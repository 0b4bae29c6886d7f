/** Definitions of pipelines for tests that need no service. */
import { PipelineDefinition } from '../../shared/model/definition.ts'

/** A running pipeline of account `acc_a` with one task and no step, from one topic to another. */
export const definitionOf = (pipeline_id: string, more: Partial<PipelineDefinition> = {}): PipelineDefinition =>
  PipelineDefinition.parse({
    pipeline_id,
    account_id: 'acc_a',
    name: pipeline_id,
    revision: 1,
    attempt: 1,
    desired: 'running',
    tasks: 1,
    source: { kind: 'topic', topic: 'in' },
    sink: { kind: 'topic', topic: 'out', schema_id: 1, bytes_max: 1 },
    dead_letter_bytes_max: 1,
    dead_letter_topic: 'dead',
    group_id: pipeline_id,
    steps: [],
    ...more,
  })

/** What reports of a task have in common. */
export const REPORT = {
  pipeline_id: 'pl_a',
  processor_id: 'p',
  revision: 1,
  attempt: 1,
  status: 'running',
  reason: null,
  at: '',
  records_per_second: 0,
  partitions: [],
}
