/**
 * Definitions and reports as versions up to November 2026 wrote them. They stay in Postgres and on compacted topics until something
 * replaces them, so both services read them as what they mean today (decision 027).
 */
import { z } from 'zod'

const OlderDefinition = z.looseObject({
  source_topic: z.string(),
  source_partitions: z.unknown().optional(),
  source_codec: z.unknown().optional(),
  /** Set for an external source alone. */
  source: z.looseObject({}).optional(),
  /** The dead-letter topic where the sink was external. */
  sink_topic: z.string(),
  sink_schema_id: z.unknown().optional(),
  sink_bytes_max: z.unknown().optional(),
  sink_codec: z.unknown().optional(),
  compression: z.unknown().optional(),
  /** Set for an external sink alone. */
  sink: z.looseObject({}).optional(),
})

/** Returns a definition of today's form for an older one, and anything else as it is. */
export function upgradeDefinition(value: unknown): unknown {
  const older = OlderDefinition.safeParse(value)
  if (!older.success) return value
  const {
    source_topic,
    source_partitions,
    source_codec,
    source,
    sink_topic,
    sink_schema_id,
    sink_bytes_max,
    sink_codec,
    compression,
    sink,
    ...rest
  } = older.data
  const topic = { topic: source_topic, partitions: source_partitions }
  return {
    ...rest,
    source: source ? { ...source, ...topic, kind: 'connector' } : { ...topic, kind: 'topic', codec: source_codec },
    sink: sink
      ? { ...sink, kind: 'connector' }
      : { kind: 'topic', topic: sink_topic, schema_id: sink_schema_id, bytes_max: sink_bytes_max, compression, codec: sink_codec },
  }
}

/** Intake tasks had the numbers from this one on. */
const INTAKE_FROM = 1000
const OlderTask = z.looseObject({ task: z.number().min(INTAKE_FROM), role: z.undefined().optional() })

/** Returns a value that names an intake task as today's do for an older one, and anything else as it is. */
export function upgradeTask(value: unknown): unknown {
  const older = OlderTask.safeParse(value)
  return older.success ? { ...older.data, role: 'intake', task: older.data.task - INTAKE_FROM } : value
}

const OlderJobReport = z.looseObject({ pipeline_id: z.string().startsWith('job_'), job_id: z.undefined().optional() })

/** Returns a report of today's form for an older one, and anything else as it is: a job's had the job's id in place of its pipeline's. */
export function upgradeReport(value: unknown): unknown {
  const older = OlderJobReport.safeParse(value)
  return upgradeTask(older.success ? { ...older.data, job_id: older.data.pipeline_id } : value)
}
