/**
 * Starts and stops the tasks of this processor: the definitions say what should run, the fleet says where. Each pass compares the wanted
 * tasks with the running ones; passes may run any number of times, triggered by anything.
 */
import type { OperatorDefaults } from '../../../shared/connectors/connector.ts'
import type { Cluster } from '../../../shared/kafka/cluster.ts'
import type { FetchBatches } from '../../../shared/kafka/wire/fetch.ts'
import {
  INTAKE_TASKS_FROM,
  runIdOf,
  taskNumbersOf,
  type ObservedTask,
  type PipelineDefinition,
  type ServiceNames,
} from '../../../shared/model/definition.ts'
import type { Lanes } from '../lane/lanes.ts'
import type { LaneChain } from '../lane/messages.ts'
import type { Phases } from '../phases.ts'
import type { ByteBudget } from '../task/byte-budget.ts'
import { startIntake } from '../intake/intake.ts'
import { startTask } from '../task/task.ts'
import { connectorContextOf } from './connector-context.ts'
import { chainOf } from './chain-of.ts'
import type { Declined } from './declined.ts'
import type { Definitions } from './definitions.ts'
import type { Fleet } from './fleet.ts'
import { placeTask } from './placement.ts'
import { newSlot, observe, type Slot } from './slot.ts'

export type SupervisorOptions = {
  processorId: string
  brokers: string[]
  cluster: Cluster
  definitions: Definitions
  fleet: Fleet
  declined: Declined
  lanes: Lanes
  budget: ByteBudget
  fetch: FetchBatches
  roundBytesMax: number
  sessionTimeoutMs: number
  names: ServiceNames
  connectorDefaults: OperatorDefaults
  now: () => number
  log: (level: 'info' | 'warn', message: string, fields: object) => void
  onChange: () => void
  phases: Phases
}

export type Supervisor = {
  /** Compares the wanted tasks with the running ones. */
  reconcile(): void
  observed(): ObservedTask[]
  /** Starts no more tasks; running ones go on until `close`. */
  drain(): void
  close(): Promise<void>
}

const RETRY_MS = 1000
const RETRY_MAX_MS = 30_000
/** After this many restarts in a row without an environmental cause (`isEnvironment`), the pipeline fails with the last reason. */
const RESTARTS_MAX = 10
/** A task that has failed to start for this long is declined, so that another processor tries. */
const DECLINE_AFTER_MS = 30_000
const PASS_MS = 500

type Wanted = { definition: PipelineDefinition; index: number }

export function openSupervisor(options: SupervisorOptions): Supervisor {
  const { declined, definitions, fleet, now, processorId } = options
  const slots = new Map<string, Slot>()
  /** The final report of each task of a stopped pipeline, kept until the task starts again or the pipeline is deleted. */
  const finals = new Map<string, ObservedTask>()
  let draining = false
  let closed = false

  function isMine(definition: PipelineDefinition, index: number): boolean {
    const runId = runIdOf(definition)
    const members = declined.eligible(fleet.members(), runId, index, definition.attempt, definition.revision)
    return placeTask(members, runId, index) === processorId
  }

  function wanted(): Map<string, Wanted> {
    const tasks = new Map<string, Wanted>()
    for (const [runId, definition] of definitions.pipelines) {
      if (definition.desired === 'stopped') continue
      for (const index of taskNumbersOf(definition)) if (isMine(definition, index)) tasks.set(`${runId}/${index}`, { definition, index })
    }
    return tasks
  }

  async function start(slot: Slot): Promise<void> {
    const { definition, index } = slot
    const fields = { pipeline_id: runIdOf(definition), task: index, revision: definition.revision }
    slot.failure = null
    slot.retryAt = Number.POSITIVE_INFINITY
    slot.isStarting = true
    let chain: LaneChain
    try {
      chain = await chainOf(definition, definitions)
    } catch (error) {
      return retryLater(slot, error instanceof Error ? error.message : String(error), false)
    } finally {
      slot.isStarting = false
    }
    if (slot.isClosing) return
    // Another revision arrived meanwhile: start with that one.
    if (slot.definition.revision !== definition.revision) return start(slot)
    const log = (level: 'info' | 'warn', message: string) => options.log(level, message, fields)
    const own = {
      definition,
      index,
      transactionalId: options.names.transactionalId(runIdOf(definition), index),
      brokers: options.brokers,
      clientId: processorId,
      cluster: options.cluster,
      connectors: connectorContextOf(definition, definitions, options.connectorDefaults, now, log),
      sessionTimeoutMs: options.sessionTimeoutMs,
      now,
      log,
      onChange: options.onChange,
      phases: options.phases,
    }
    const { names, lanes, budget, fetch, roundBytesMax } = options
    const earlier = async (revision: number) => {
      const found = definitions.revision(definition.pipeline_id, revision)
      return found && { definition: found, chain: await chainOf(found, definitions) }
    }
    const task =
      index >= INTAKE_TASKS_FROM
        ? startIntake({
            ...own,
            groupId: names.intakeGroup(definition.pipeline_id),
            seenTopic: names.seenTopic(definition.account_id, definition.pipeline_id),
          })
        : startTask({ ...own, ledgerTopic: names.ledger, lanes, chain, budget, fetch, roundBytesMax, earlier })
    slot.task = task
    options.log('info', 'task started', fields)
    // The desired status may have changed while the chain was being prepared.
    slot.task.setPaused(slot.definition.desired === 'paused')
    const end = await task.ended
    slot.lastView = task.view()
    slot.task = undefined
    if (slot.lastView.hasRun) [slot.failures, slot.failingSince] = [0, undefined]
    options.log(end.kind === 'failed' ? 'warn' : 'info', `task ended: ${end.kind}`, {
      ...fields,
      ...('reason' in end ? { reason: end.reason } : {}),
    })
    if (slot.isClosing) return
    if (end.kind === 'broken') return retryLater(slot, end.reason, end.isEnvironment)
    if (end.kind === 'failed') fail(slot, end.reason, end.quarantined)
    else if (end.kind === 'finished') slot.end = 'finished'
    // Taken over: another processor owns the task now. If the fleet's view still places it here, start again, with jitter.
    else slot.retryAt = now() + RETRY_MS + Math.random() * RETRY_MS
    options.onChange()
  }

  function fail(slot: Slot, reason: string, quarantined?: string): void {
    slot.failure = reason
    slot.end = 'failed'
    if (quarantined !== undefined) slot.quarantined = [quarantined]
  }

  /** With backoff. Failures without an environmental cause end after RESTARTS_MAX tries; before that, another processor may try. */
  function retryLater(slot: Slot, reason: string, isEnvironment: boolean): void {
    slot.failingSince ??= now()
    if (!isEnvironment && ++slot.failures >= RESTARTS_MAX) fail(slot, `gave up after ${RESTARTS_MAX} restarts: ${reason}`)
    else {
      slot.failure = `retrying: ${reason}`
      slot.retryAt = now() + Math.min(RETRY_MS * 2 ** Math.min(slot.failures, 10), RETRY_MAX_MS)
      if (now() - slot.failingSince > DECLINE_AFTER_MS && fleet.members().length > 1) decline(slot)
    }
    options.onChange()
  }

  function decline({ definition, index }: Slot): void {
    declined
      .decline(runIdOf(definition), index, definition.attempt, definition.revision)
      .catch((error: unknown) =>
        options.log('warn', 'a task could not be declined', { reason: String(error), pipeline_id: runIdOf(definition) }),
      )
    reconcile()
  }

  async function end(slot: Slot): Promise<void> {
    slot.isClosing = true
    const { task } = slot
    await task?.stop()
    slot.lastView = task?.view() ?? slot.lastView
    slot.task = undefined
    slots.delete(slot.key)
    // The control plane waits for the report that a stopped pipeline has drained; a task that only moved is reported by its new owner.
    const definition = definitions.pipelines.get(runIdOf(slot.definition))
    if (!closed && definition?.desired === 'stopped') report(slot.key, { ...slot, definition, failure: null })
    options.onChange()
  }

  function report(key: string, slot: Slot): void {
    finals.set(key, { ...observe(slot, processorId, now()), status: 'stopped', reason: null, records_per_second: 0 })
  }

  /** Passes a later revision on to the running task, and starts the task if it should run and does not. */
  function follow(slot: Slot, next: PipelineDefinition): void {
    const before = slot.definition
    slot.definition = next
    slot.task?.setPaused(next.desired === 'paused')
    if (next.revision !== before.revision) {
      if (slot.task) void update(slot, next)
      else if (slot.end !== 'failed' && !slot.isStarting) [slot.failures, slot.retryAt] = [0, 0]
    }
    if (!slot.task && !slot.isStarting && slot.end === undefined && slot.retryAt <= now() && !draining) void start(slot)
  }

  async function update(slot: Slot, definition: PipelineDefinition): Promise<void> {
    try {
      const chain = await chainOf(definition, definitions)
      if (slot.definition.revision === definition.revision) slot.task?.update(definition, chain)
    } catch (error) {
      options.log('warn', 'the next revision is not ready', { pipeline_id: runIdOf(definition), reason: String(error) })
      // A SmartModule may not have arrived yet: try again.
      setTimeout(() => {
        const isCurrent = slots.get(slot.key) === slot && !slot.isClosing && slot.definition.revision === definition.revision
        if (!closed && isCurrent) void update(slot, slot.definition)
      }, RETRY_MS)
    }
  }

  function reconcile(): void {
    if (closed) return
    const tasks = wanted()
    for (const slot of slots.values()) {
      if (slot.isClosing) continue
      const next = tasks.get(slot.key)?.definition
      if (!next && draining) continue
      // When a revision changes the number of tasks, only the added and removed ones join or leave the group; the others keep running.
      if (!next || next.attempt !== slot.definition.attempt) void end(slot).then(reconcile)
      else follow(slot, next)
    }
    for (const [key, { definition, index }] of tasks) {
      if (slots.has(key) || draining) continue
      const slot = newSlot(key, definition, index, now())
      slots.set(key, slot)
      finals.delete(key)
      void start(slot)
    }
    reportStopped()
  }
  const timer = setInterval(reconcile, PASS_MS)

  /** A pipeline may be stopped before any of its tasks ran: the processor that would run them must report that nothing runs. */
  function reportStopped(): void {
    for (const [key, { pipeline_id }] of finals) if (!definitions.pipelines.has(pipeline_id)) finals.delete(key)
    for (const [runId, definition] of definitions.pipelines) {
      if (definition.desired !== 'stopped') continue
      for (const index of taskNumbersOf(definition)) {
        const key = `${runId}/${index}`
        const known = finals.get(key)
        if (slots.has(key) || (known?.revision === definition.revision && known.attempt === definition.attempt)) continue
        if (isMine(definition, index)) report(key, newSlot(key, definition, index, now()))
      }
    }
  }

  return {
    reconcile,
    observed: () => [...finals.values(), ...[...slots.values()].map((slot) => observe(slot, processorId, now()))],
    drain() {
      draining = true
    },
    async close() {
      closed = true
      clearInterval(timer)
      await Promise.all([...slots.values()].map(end))
    },
  }
}
