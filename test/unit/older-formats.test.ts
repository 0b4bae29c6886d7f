/** Definitions and reports that earlier versions have stored. */
import { describe, expect, it } from 'vitest'
import { PipelineDefinition, tasksOf } from '../../shared/model/definition.ts'
import { ObservedTask } from '../../shared/model/observed.ts'
import { definitionOf, REPORT } from '../harness/definitions.ts'

const COMMON = {
  pipeline_id: 'pl_a',
  account_id: 'acc_a',
  name: 'a',
  revision: 3,
  attempt: 2,
  desired: 'running',
  tasks: 2,
  dead_letter_topic: 'dead',
  dead_letter_bytes_max: 2000,
  group_id: 'group',
  steps: [],
  source_partitions: 4,
}

describe('a definition of an earlier version', () => {
  it('from a topic to a topic keeps codecs, compression, schema and sizes', () => {
    const codec = { format: 'avro', schemas: { 7: '"string"' } }
    const older = {
      ...COMMON,
      source_topic: 'in',
      source_codec: codec,
      sink_topic: 'out',
      sink_schema_id: 9,
      sink_bytes_max: 1000,
      compression: 'zstd',
      sink_codec: { format: 'protobuf', schema: 'message A {}' },
    }
    const text = (schema: string) => ({ text: schema, references: [] })
    expect(PipelineDefinition.parse(older)).toMatchObject({
      revision: 3,
      attempt: 2,
      tasks: 2,
      source: { kind: 'topic', topic: 'in', partitions: 4, codec: { format: 'avro', schemas: { 7: text('"string"') } } },
      sink: {
        kind: 'topic',
        topic: 'out',
        schema_id: 9,
        bytes_max: 1000,
        compression: 'zstd',
        codec: { format: 'protobuf', schema: text('message A {}') },
      },
      dead_letter_topic: 'dead',
    })
  })

  it('between external systems keeps both connectors, and the intake topic', () => {
    const older = {
      ...COMMON,
      source_topic: 'intake',
      source: { connector_id: 'conn_webhook', config: { secret: { $secret: 's' } } },
      // The dead-letter topic stood in for a sink that is no topic.
      sink_topic: 'dead',
      sink_schema_id: 0,
      sink_bytes_max: 1000,
      sink: { connector_id: 'conn_table', config: { table: 't' }, fields: { n: 'integer' }, origin: 'orders' },
    }
    const parsed = PipelineDefinition.parse(older)
    expect(parsed.source).toEqual({
      kind: 'connector',
      topic: 'intake',
      partitions: 4,
      connector_id: 'conn_webhook',
      config: { secret: { $secret: 's' } },
    })
    expect(parsed.sink).toMatchObject({ kind: 'connector', connector_id: 'conn_table', fields: { n: 'integer' }, origin: 'orders' })
    expect(tasksOf(parsed)).toHaveLength(4)
    expect(PipelineDefinition.parse(JSON.parse(JSON.stringify(parsed)))).toEqual(parsed)
  })

  it('of a job keeps what the job does', () => {
    const job = { job_id: 'job_a', kind: 'redrive', ranges: { 0: [['1', '5']] }, records_per_second_max: null }
    const older = { ...COMMON, source_topic: 'dead', sink_topic: 'out', sink_schema_id: 9, sink_bytes_max: 1000, job }
    expect(PipelineDefinition.parse(older)).toMatchObject({ source: { kind: 'topic', topic: 'dead' }, sink: { topic: 'out' }, job })
  })

  it('is not what today’s is taken for', () => {
    const today = definitionOf('pl_b', { tasks: 3 })
    expect(PipelineDefinition.parse(today)).toEqual(today)
    expect(PipelineDefinition.safeParse({ ...COMMON, source_topic: 5 }).success).toBe(false)
    expect(PipelineDefinition.safeParse(null).success).toBe(false)
  })
})

describe('a report of an earlier version', () => {
  it('of a job names the job', () => {
    expect(ObservedTask.parse({ ...REPORT, pipeline_id: 'job_a', task: 0 })).toMatchObject({ pipeline_id: 'job_a', job_id: 'job_a' })
    expect(ObservedTask.parse({ ...REPORT, job_id: 'job_a', task: 0 })).toMatchObject({ pipeline_id: 'pl_a', job_id: 'job_a' })
  })

  it('of an intake task has its role, and a number from 0', () => {
    expect(ObservedTask.parse({ ...REPORT, task: 1002 })).toMatchObject({ role: 'intake', task: 2 })
    expect(ObservedTask.parse({ ...REPORT, task: 2 })).toMatchObject({ role: 'chain', task: 2 })
    expect(ObservedTask.parse({ ...REPORT, role: 'chain', task: 1002 })).toMatchObject({ role: 'chain', task: 1002 })
  })
})
