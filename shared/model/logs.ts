/** Lines that SmartModules and tasks log, on their way from a runner to the control plane. */
import { z } from 'zod'
import { upgradeTask } from './older-formats.ts'
import { TaskId } from './task.ts'
import { LOG_CHARACTERS_MAX, LOG_LEVELS, MEASURE_KINDS, MEASURE_NAME, type Measure as MeasureValue } from './telemetry.ts'

/**
 * One line. `step` and `module` are null for the task's own lines; `step` counts from 1. `dropped`: how many lines before it were too many.
 */
export const LogLine = z.object({
  at: z.string().max(40),
  level: z.enum(LOG_LEVELS),
  step: z.number().int().nullable(),
  module: z.string().max(300).nullable(),
  version: z.string().max(40).nullable(),
  ...TaskId.shape,
  revision: z.number().int(),
  message: z.string().max(LOG_CHARACTERS_MAX + 1),
  dropped: z.number().int().nonnegative().max(1e12).optional(),
})
/** A validated line. */
export type LogLine = z.infer<typeof LogLine>

/** A line as it is on the logs topic, under its pipeline's id as the key; `job_id` where a job ran the chain. */
export const LogEntry = z.preprocess(upgradeTask, LogLine.extend({ processor_id: z.string(), job_id: z.string().optional() }))
/** A validated entry. */
export type LogEntry = z.infer<typeof LogEntry>

/** What a step has measured under one name (`telemetry.ts`). */
export const Measure = z.object({
  step: z.number().int(),
  name: z.string().regex(MEASURE_NAME),
  kind: z.enum(MEASURE_KINDS),
  times: z.number(),
  sum: z.number(),
}) satisfies z.ZodType<MeasureValue>
