/** The life of one task in this runner: its chain is prepared, it runs, and what follows when it ends or does not start. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { reasonOf } from '../../../shared/errors/reason-of.ts'
import type { Cluster } from '../../../shared/kafka/cluster.ts'
import type { FetchBatches } from '../../../shared/kafka/wire/fetch.ts'
import { runIdOf, type PipelineDefinition, type ServiceNames } from '../../../shared/model/definition.ts'
import { cutLine } from '../../../shared/model/telemetry.ts'
import type { TaskId } from '../../../shared/model/task.ts'
import { startIntake } from '../intake/intake.ts'
import { createLineRate } from '../line-rate.ts'
import type { Lanes } from '../lane/lanes.ts'
import type { LaneChain } from '../lane/messages.ts'
import type { Task, TaskEnd } from '../member/task-view.ts'
import type { Phases } from '../phases.ts'
import type { ByteBudget } from '../task/byte-budget.ts'
import { startTask } from '../task/task.ts'
import { chainOf } from './chain-of.ts'
import { connectorContextOf } from './connector-context.ts'
import type { Notes } from '../channel/notes.ts'
import type { RunnerDefinitions } from './definitions.ts'
import type { Slot } from './slot.ts'
import type { RunnerTelemetry } from './telemetry.ts'

/** The run whose code is on the stack, in every callback that its task leads to. */
export const currentRun = new AsyncLocalStorage<string>()

const RETRY_MS = 1000
const RETRY_MAX_MS = 30_000
/** After this many restarts in a row whose cause does not pass by itself (`isPassing`), the pipeline fails with the last reason. */
const RESTARTS_MAX = 10
/** A task that has failed to start for this long is declined, so that another processor tries. */
const DECLINE_AFTER_MS = 30_000

/** Lines of all tasks in the processor's own log, which is the operator's; the pipeline's log has what it may have. */
const LOGGED_BURST = 50
const LOGGED_PER_SECOND = 5

export type TaskLifeOptions = {
  processorId: string
  brokers: string[]
  cluster: Cluster
  definitions: RunnerDefinitions
  /** The task does not start here: another processor should try. */
  decline(slot: Slot): void
  notes: Notes
  lanes: Lanes
  budget: ByteBudget
  fetch: FetchBatches
  roundBytesMax: number
  sessionTimeoutMs: number
  names: ServiceNames
  now: () => number
  log: (level: 'info' | 'warn', message: string, fields: object) => void
  onChange: () => void
  phases: Phases
  telemetry: RunnerTelemetry
}

export type TaskLife = {
  /** Starts the slot's task; afterwards the slot says how it ended, and when it may start again. */
  start(slot: Slot): Promise<void>
  /** Passes a later revision on to the running task. */
  update(slot: Slot, definition: PipelineDefinition): Promise<void>
}

/** `revision`: the last one that the task ran. */
function tellEnd({ log, telemetry }: TaskLifeOptions, definition: PipelineDefinition, id: TaskId, end: TaskEnd, revision: number): void {
  const level = end.kind === 'failed' ? 'warn' : 'info'
  const reason = 'reason' in end ? end.reason : undefined
  log(level, `task ended: ${end.kind}`, { run_id: runIdOf(definition), ...id, revision, ...(reason === undefined ? {} : { reason }) })
  telemetry.onTaskLog(definition, id, revision, level, `task ended (${end.kind})${reason === undefined ? '' : `: ${reason}`}`)
}

export function createTaskLife(options: TaskLifeOptions): TaskLife {
  const { definitions, notes, now, names, lanes, budget, fetch, roundBytesMax } = options
  const written = createLineRate(LOGGED_BURST, LOGGED_PER_SECOND)

  function openTask(definition: PipelineDefinition, id: TaskId, chain: LaneChain, fields: object): Task {
    // A running task takes later revisions over.
    let task: Task | undefined
    const log = (level: 'info' | 'warn', message: string) => {
      const revision = task?.view().revision ?? definition.revision
      const shown = cutLine(connectors.mask(message))
      options.telemetry.onTaskLog(definition, id, revision, level, shown)
      const dropped = written.take()
      if (dropped !== undefined) options.log(level, shown, { ...fields, revision, ...(dropped > 0 ? { dropped } : {}) })
    }
    const connectors = connectorContextOf(definition, definitions, now, log)
    const own = {
      definition,
      task: id.task,
      transactionalId: options.names.transactionalId(runIdOf(definition), id),
      brokers: options.brokers,
      clientId: options.processorId,
      cluster: options.cluster,
      connectors,
      sessionTimeoutMs: options.sessionTimeoutMs,
      now,
      log,
      onChange: options.onChange,
      phases: options.phases,
    }
    const earlier = async (revision: number) => {
      const found = await definitions.revision(definition.pipeline_id, revision)
      return found && { definition: found, chain: await notedChainOf(found, id) }
    }
    const { source, pipeline_id } = definition
    if (id.role === 'chain')
      return (task = startTask({ ...own, ledgerTopic: names.ledger, lanes, chain, budget, fetch, roundBytesMax, earlier }))
    if (source.kind === 'topic') throw new Error(`pipeline ${pipeline_id} has an intake task, and no external source`)
    return (task = startIntake({
      ...own,
      source,
      groupId: names.intakeGroup(pipeline_id),
      seenTopic: names.seenTopic(definition.account_id, pipeline_id),
    }))
  }

  const notedChainOf = (definition: PipelineDefinition, { task }: TaskId): Promise<LaneChain> =>
    notes.during(runIdOf(definition), 'compile', () => chainOf(definition, task, definitions))

  async function start(slot: Slot): Promise<void> {
    const { definition, id } = slot
    const fields = { run_id: runIdOf(definition), ...id, revision: definition.revision }
    slot.failure = null
    slot.retryAt = Number.POSITIVE_INFINITY
    slot.isStarting = true
    let chain: LaneChain
    try {
      chain = await notedChainOf(definition, id)
    } catch (error) {
      return retryLater(slot, reasonOf(error), false)
    } finally {
      slot.isStarting = false
    }
    if (slot.isClosing) return
    // Another revision arrived meanwhile: start with that one.
    if (slot.definition.revision !== definition.revision) return start(slot)
    options.telemetry.forget(runIdOf(definition), id)
    // What is thrown past everything in a driver's callback is then known to be of this run.
    const task = currentRun.run(runIdOf(definition), () => openTask(definition, id, chain, fields))
    slot.task = task
    options.log('info', 'task started', fields)
    options.telemetry.onTaskLog(definition, id, definition.revision, 'info', 'task started')
    // The desired status may have changed while the chain was being prepared.
    slot.task.setPaused(slot.definition.desired === 'paused')
    const end = await task.ended
    slot.lastView = task.view()
    slot.task = undefined
    if (slot.lastView.hasRun) [slot.failures, slot.failingSince] = [0, undefined]
    tellEnd(options, definition, id, end, slot.lastView.revision)
    if (slot.isClosing) return
    if (end.kind === 'broken') return retryLater(slot, end.reason, end.isPassing)
    if (end.kind === 'failed') fail(slot, end.reason, end.quarantined)
    else if (end.kind === 'finished') slot.end = 'finished'
    // Taken over: another processor owns the task now. If the fleet's view still places it here, start again, with jitter.
    else slot.retryAt = performance.now() + RETRY_MS + Math.random() * RETRY_MS
    options.onChange()
  }

  function fail(slot: Slot, reason: string, quarantined?: string): void {
    slot.failure = reason
    slot.end = 'failed'
    if (quarantined !== undefined) slot.quarantined = [quarantined]
  }

  /** With backoff. Failures whose cause does not pass by itself end after RESTARTS_MAX tries; before that, another processor may try. */
  function retryLater(slot: Slot, reason: string, isPassing: boolean): void {
    slot.failingSince ??= performance.now()
    if (!isPassing && ++slot.failures >= RESTARTS_MAX) fail(slot, `gave up after ${RESTARTS_MAX} restarts: ${reason}`)
    else {
      slot.failure = `retrying: ${reason}`
      slot.retryAt = performance.now() + Math.min(RETRY_MS * 2 ** Math.min(slot.failures, 10), RETRY_MAX_MS)
      if (performance.now() - slot.failingSince > DECLINE_AFTER_MS) options.decline(slot)
    }
    options.onChange()
  }

  async function update(slot: Slot, definition: PipelineDefinition): Promise<void> {
    try {
      const chain = await notedChainOf(definition, slot.id)
      if (slot.definition.revision === definition.revision) slot.task?.update(definition, chain)
    } catch (error) {
      options.log('warn', 'the next revision is not ready', { run_id: runIdOf(definition), reason: reasonOf(error) })
      // A SmartModule may not have arrived yet: try again.
      setTimeout(() => {
        if (!slot.isClosing && slot.definition.revision === definition.revision) void update(slot, slot.definition)
      }, RETRY_MS)
    }
  }

  return { start, update }
}
