/**
 * The messages between a supervisor and its runners. A runner is not trusted: it runs an account's code and talks to an account's servers.
 * The supervisor checks every value against these schemas, and accepts reports only on the runner's own pipelines.
 */
import { OperatorDefaults } from '../../../shared/connectors/connector.ts'
import { z } from 'zod'
import { PipelineDefinition } from '../../../shared/model/definition.ts'
import { ObservedTask } from '../../../shared/model/observed.ts'
import { TaskId } from '../../../shared/model/task.ts'
import { LogLine } from '../../../shared/model/logs.ts'

/** What a runner needs of the processor's settings. It sees neither `SECRETS_KEYS` nor the environment. */
export const Settings = z.object({
  processorId: z.string(),
  brokers: z.array(z.string()),
  security: z.object({
    tls: z.boolean(),
    caFile: z.string().optional(),
    certFile: z.string().optional(),
    keyFile: z.string().optional(),
    sasl: z
      .object({ mechanism: z.enum(['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512']), username: z.string(), password: z.string() })
      .optional(),
  }),
  prefix: z.string(),
  cacheFolder: z.string(),
  lanes: z.number().int(),
  roundBytesMax: z.number(),
  fetchBudgetBytes: z.number(),
  callTimeoutMs: z.number(),
  sessionTimeoutMs: z.number(),
  logLevel: z.enum(['debug', 'info', 'warn', 'error', 'silent']),
  faults: z.string().optional(),
})
/** The validated settings of a runner. */
export type Settings = z.infer<typeof Settings>

/** A decrypted secret, or why it can't be decrypted. */
const Secret = z.union([z.object({ value: z.string() }), z.object({ error: z.string() })])
export type Secret = z.infer<typeof Secret>

/** From the supervisor. */
export const ToRunner = z.discriminatedUnion('type', [
  z.object({ type: z.literal('settings'), settings: Settings }),
  /** Every second. A runner that misses ten ends itself: its supervisor stands still, and others may have its tasks. */
  z.object({ type: z.literal('beat') }),
  /**
   * All secrets of the accounts that the runner serves, by owner (`ownerOf`), and the operator's defaults as each of them gets them, by
   * account; replaces the earlier ones.
   */
  z.object({ type: z.literal('accounts'), secrets: z.record(z.string(), Secret), defaults: z.record(z.string(), OperatorDefaults) }),
  /**
   * These tasks of the run are to run here, with this definition; replaces what was said of the run before. `assignment` counts these
   * messages: the end of a task is reported with the last one that it was wanted in, so that an end that crosses a new assignment is not
   * taken for the end of that one.
   */
  z.object({ type: z.literal('assign'), assignment: z.number().int(), definition: PipelineDefinition, tasks: z.array(TaskId) }),
  /** No task of the run is to run here any more. */
  z.object({ type: z.literal('release'), run_id: z.string() }),
  /** Answers `need`: the binary is the bytes that came just before it. */
  z.object({ type: z.literal('binary'), id: z.number().int() }),
  /** Answers `need_revision` with the JSON of a definition, and both with null where there is none. */
  z.object({ type: z.literal('answer'), id: z.number().int(), value: z.string().nullable() }),
  /** Finish and commit the current rounds, leave the groups, exit. */
  z.object({ type: z.literal('drain') }),
])
export type ToRunner = z.infer<typeof ToRunner>

/** From a runner. */
export const FromRunner = z.discriminatedUnion('type', [
  z.object({ type: z.literal('ready') }),
  /** Its lanes at work, and those among them whose slow SmartModules come after everything else. */
  z.object({ type: z.literal('beat'), lanes: z.number().int(), stepped_back: z.number().int() }),
  /** `tasks`: reports that changed. `ended`: the last reports of tasks that are gone, each with the assignment that it was wanted in. */
  z.object({
    type: z.literal('report'),
    tasks: z.array(ObservedTask),
    ended: z.array(z.object({ assignment: z.number().int(), last: ObservedTask })),
  }),
  /** What the run's SmartModules and its tasks have logged. */
  z.object({ type: z.literal('logs'), run_id: z.string(), lines: z.array(LogLine).max(1000) }),
  /** A task does not start here: another processor should try. */
  z.object({ type: z.literal('declined'), run_id: z.string(), task: TaskId }),
  z.object({ type: z.literal('need'), id: z.number().int(), sha256: z.string() }),
  z.object({ type: z.literal('need_revision'), id: z.number().int(), pipeline_id: z.string(), revision: z.number().int() }),
])
export type FromRunner = z.infer<typeof FromRunner>

/** The descriptor of a runner's notes (`notes.ts`). */
export const NOTES_FD = 4

export const BEAT_MS = 1000
/** Beats in a row that may be missing on either side. Counted, not timed: a machine that was paused has not been silent. */
export const BEATS_MISSED_MAX = 10
