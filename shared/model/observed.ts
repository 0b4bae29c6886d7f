/** What processors report back to the control plane: the values on `dps.observed`. */
import { z } from 'zod'
import { Measure } from './logs.ts'
import { upgradeReport } from './older-formats.ts'
import { TaskId, taskName } from './task.ts'
import { cutText, REASON_CHARACTERS_MAX } from './text.ts'

/** Statuses that a task can report. */
const OBSERVED_STATUSES = ['starting', 'running', 'paused', 'stopped', 'failed', 'finished'] as const

/** Record counts by outcome, of one step or of a whole chain. */
export const Counters = z.object({
  in: z.number(),
  out: z.number(),
  filtered: z.number(),
  skipped: z.number(),
  failed: z.number(),
  absorbed: z.number(),
  emitted: z.number(),
})
/** Validated counters. */
export type Counters = z.infer<typeof Counters>

/** Offsets are decimal strings, because they may exceed 2^53. */
const Report = z.object({
  pipeline_id: z.string(),
  /** Set where the task is a job's. */
  job_id: z.string().min(1).optional(),
  ...TaskId.shape,
  processor_id: z.string(),
  revision: z.number().int(),
  attempt: z.number().int(),
  status: z.enum(OBSERVED_STATUSES),
  /** A SmartModule's message may contain NUL, which Postgres refuses in text. A runner, which is not trusted, may send a longer one. */
  reason: z
    .string()
    .nullable()
    .transform((reason) => (reason === null ? null : cutText(reason, REASON_CHARACTERS_MAX).replaceAll('\0', '\uFFFD'))),
  at: z.string(),
  records_per_second: z.number(),
  /** Records of current rounds that are not committed yet. */
  in_flight: z.number().default(0),
  /** The task paused itself because its failure threshold was exceeded. */
  held_back: z.boolean().default(false),
  /** SHA-256 hashes of the SmartModule versions that this processor has quarantined for the pipeline. */
  quarantined: z.array(z.string()).default([]),
  /** What the steps have counted and observed since the task started. */
  measures: z.array(Measure).max(440).default([]),
  partitions: z.array(
    z.object({
      partition: z.number().int(),
      position: z.string(),
      end: z.string(),
      lag: z.string(),
      steps: z.array(Counters),
      /** Totals of the whole chain over all revisions. */
      totals: Counters.optional(),
    }),
  ),
})
/** The state of one task as its processor reports it. */
export const ObservedTask = z.preprocess(upgradeReport, Report)
/** A validated report of one task. */
export type ObservedTask = z.infer<typeof ObservedTask>

/** A report as the API shows it. */
export const ShownTask = Report.omit({ pipeline_id: true, job_id: true, attempt: true })

/** The record key of a task on `dps.observed`. */
export const observedKey = (runId: string, task: TaskId): string => `${runId}/${taskName(task)}`
/** The record key of a report. */
export const keyOfReport = (report: ObservedTask): string => observedKey(runOfReport(report), report)
/** The id of the run that a report is of: the job's, or the pipeline's where there is no job. */
export const runOfReport = ({ job_id, pipeline_id }: Pick<ObservedTask, 'job_id' | 'pipeline_id'>): string => job_id ?? pipeline_id

/** Whether the task has failed or finished: it runs no more in this attempt. */
export const isTaskOver = (report: ObservedTask): report is ObservedTask & { status: 'failed' | 'finished' } =>
  report.status === 'failed' || report.status === 'finished'

/** Records per second of the chain's tasks; intake tasks don't count, because the chain reads the same records again. */
export const chainRate = (tasks: readonly Pick<ObservedTask, 'role' | 'records_per_second'>[]): number =>
  tasks.reduce((sum, { role, records_per_second }) => sum + (role === 'chain' ? records_per_second : 0), 0)

/** What a processor has counted for an account in a clock hour (UTC, as `2026-11-22T19`). */
export const CpuUse = z.object({ account_id: z.string(), processor_id: z.string(), hour: z.string(), cpu_seconds: z.number() })
/** A validated count. */
export type CpuUse = z.infer<typeof CpuUse>
const CPU_USE = 'cpu/'
/** The record key of a count on `dps.observed`; a later hour replaces an earlier one. */
export const cpuUseKey = ({ account_id, processor_id }: CpuUse): string => `${CPU_USE}${account_id}/${processor_id}`
/** Whether the key on `dps.observed` is a count's. */
export const isCpuUseKey = (key: string): boolean => key.startsWith(CPU_USE)
