/**
 * Starts and stops the tasks that belong on this processor: the definitions say what should run, the fleet says where. Each pass
 * compares wanted with running; it may run any number of times and in any order of causes.
 */
import type { Cluster } from '../../../shared/kafka/cluster.ts'
import type { FetchBatches } from '../../../shared/kafka/wire/fetch.ts'
import type { ObservedTask, PipelineDefinition, ServiceNames } from '../../../shared/model/definition.ts'
import type { InitDocument } from '../../../shared/smartmodule/abi.ts'
import type { Lanes } from '../lane/lanes.ts'
import type { LaneChain, LaneStep } from '../lane/messages.ts'
import type { ByteBudget } from '../task/byte-budget.ts'
import { startTask, type Task, type TaskView } from '../task/task.ts'
import type { Definitions } from './definitions.ts'
import type { Fleet } from './fleet.ts'
import { placeTask } from './placement.ts'

export type SupervisorOptions = {
  processorId: string
  brokers: string[]
  cluster: Cluster
  definitions: Definitions
  fleet: Fleet
  lanes: Lanes
  budget: ByteBudget
  fetch: FetchBatches
  roundBytesMax: number
  sessionTimeoutMs: number
  names: ServiceNames
  now: () => number
  log: (level: 'info' | 'warn', message: string, fields: object) => void
  onChange: () => void
}

export type Supervisor = { /** Compares wanted with running. */ reconcile(): void; observed(): ObservedTask[]; close(): Promise<void> }

type Slot = {
  key: string
  definition: PipelineDefinition
  index: number
  task: Task | undefined
  /** Says what happened while there is no task. */
  failure: string | null
  isFailed: boolean
  isClosing: boolean
  retryAt: number
  recordsBefore: { at: number; done: number; rate: number }
}

/** Batches are cut below the broker's default `max.message.bytes`: larger ones make consumers wait for memory, not faster. */
const SINK_BATCH_BYTES_MAX = 1_000_000
const CONFLUENT_PREFIX_BYTES = 5
const RETRY_MS = 2000
const PASS_MS = 1000

/** The registry's framing of a value: magic byte 0, schema id (https://docs.confluent.io wire format). */
function framingPrefix(schemaId: number): string {
  const prefix = Buffer.alloc(CONFLUENT_PREFIX_BYTES)
  prefix.writeInt32BE(schemaId, 1)
  return prefix.toString('base64')
}

/** Resolves a definition to what a lane needs. Between steps values travel bare; the last one frames them for the sink. */
async function chainOf(definition: PipelineDefinition, definitions: Definitions): Promise<LaneChain> {
  const steps: LaneStep[] = []
  for (const [index, step] of definition.steps.entries()) {
    const document: InitDocument = {
      config: step.config,
      input_format: step.input_format,
      output_format: step.output_format,
      input_prefix_length: index === 0 ? CONFLUENT_PREFIX_BYTES : 0,
      output_prefix: index === definition.steps.length - 1 ? framingPrefix(definition.sink_schema_id) : '',
      pipeline: definition.pipeline_id,
      step: index,
      partition: 0,
    }
    steps.push({
      name: step.name,
      version: step.version,
      module: await definitions.smartModule(step.sha256),
      kind: step.kind,
      extismFunction: step.extism_function,
      document,
    })
  }
  return {
    pipelineId: definition.pipeline_id,
    revision: definition.revision,
    sourceTopic: definition.source_topic,
    steps,
    reframeSchemaId: definition.sink_schema_id,
    sinkBatchBytesMax: SINK_BATCH_BYTES_MAX,
    sinkRecordBytesMax: definition.sink_bytes_max,
    deadLetterBytesMax: definition.dead_letter_bytes_max,
  }
}

export function openSupervisor(options: SupervisorOptions): Supervisor {
  const { definitions, fleet, now } = options
  const slots = new Map<string, Slot>()
  /** Last word on tasks of stopped pipelines, until they start again; one each, at most as many as there are pipelines. */
  const finals = new Map<string, ObservedTask>()
  let closed = false

  function wanted(): Map<string, { definition: PipelineDefinition; index: number }> {
    const tasks = new Map<string, { definition: PipelineDefinition; index: number }>()
    const members = fleet.members()
    for (const definition of definitions.pipelines.values()) {
      if (definition.desired === 'stopped') continue
      for (let index = 0; index < definition.tasks; index++) {
        if (placeTask(members, definition.pipeline_id, index) === options.processorId)
          tasks.set(`${definition.pipeline_id}/${index}`, { definition, index })
      }
    }
    return tasks
  }

  function newSlot(key: string, definition: PipelineDefinition, index: number): Slot {
    return {
      key,
      definition,
      index,
      task: undefined,
      failure: null,
      isFailed: false,
      isClosing: false,
      retryAt: 0,
      recordsBefore: { at: now(), done: 0, rate: 0 },
    }
  }

  async function start(slot: Slot): Promise<void> {
    const { definition, index } = slot
    const fields = { pipeline_id: definition.pipeline_id, task: index, revision: definition.revision }
    slot.failure = null
    slot.retryAt = Number.POSITIVE_INFINITY
    let chain: LaneChain
    try {
      chain = await chainOf(definition, definitions)
    } catch (error) {
      return retryLater(slot, error instanceof Error ? error.message : String(error))
    }
    if (slot.isClosing) return
    const task = startTask({
      definition,
      index,
      transactionalId: options.names.transactionalId(definition.pipeline_id, index),
      brokers: options.brokers,
      clientId: options.processorId,
      cluster: options.cluster,
      lanes: options.lanes,
      chain,
      budget: options.budget,
      fetch: options.fetch,
      roundBytesMax: options.roundBytesMax,
      sessionTimeoutMs: options.sessionTimeoutMs,
      now,
      log: (level, message) => options.log(level, message, fields),
      onChange: options.onChange,
    })
    slot.task = task
    options.log('info', 'task started', fields)
    const end = await task.ended
    slot.task = undefined
    options.log(end.kind === 'failed' ? 'warn' : 'info', `task ended: ${end.kind}`, {
      ...fields,
      ...('reason' in end ? { reason: end.reason } : {}),
    })
    if (slot.isClosing) return
    if (end.kind === 'failed') {
      slot.failure = end.reason
      slot.isFailed = true
    } else if (end.kind === 'broken') retryLater(slot, end.reason)
    // Whoever took over is the owner now; if the fleet's next stable view still says it is me, I start again, with jitter.
    else slot.retryAt = now() + RETRY_MS + Math.random() * RETRY_MS
    options.onChange()
  }

  function retryLater(slot: Slot, reason: string): void {
    slot.failure = `retrying: ${reason}`
    slot.retryAt = now() + RETRY_MS
    options.onChange()
  }

  async function end(slot: Slot): Promise<void> {
    slot.isClosing = true
    const { task } = slot
    await task?.stop()
    const lastView = task?.view()
    slots.delete(slot.key)
    // The control plane waits for the word that a stopped pipeline is drained; a task that only moved is its new owner's to report.
    const desired = definitions.pipelines.get(slot.definition.pipeline_id)?.desired
    if (!closed && desired === 'stopped')
      finals.set(slot.key, { ...observe(slot, lastView), status: 'stopped', reason: null, records_per_second: 0 })
    options.onChange()
  }

  function reconcile(): void {
    if (closed) return
    const tasks = wanted()
    for (const slot of slots.values()) {
      if (slot.isClosing) continue
      const next = tasks.get(slot.key)?.definition
      // A new revision or another attempt replaces the task; pausing is a matter of the running one.
      if (!next || next.revision !== slot.definition.revision || next.attempt !== slot.definition.attempt) {
        void end(slot).then(reconcile)
        continue
      }
      slot.definition = next
      slot.task?.setPaused(next.desired === 'paused')
      if (!slot.task && !slot.isFailed && slot.retryAt <= now()) void start(slot)
    }
    for (const [key, { definition, index }] of tasks) {
      if (slots.has(key)) continue
      const slot = newSlot(key, definition, index)
      slots.set(key, slot)
      finals.delete(key)
      void start(slot)
    }
    reportStopped()
  }
  const timer = setInterval(reconcile, PASS_MS)

  /** A pipeline may be stopped before any task of it ran: somebody must say that nothing runs. */
  function reportStopped(): void {
    for (const [key, { pipeline_id }] of finals) if (!definitions.pipelines.has(pipeline_id)) finals.delete(key)
    for (const definition of definitions.pipelines.values()) {
      if (definition.desired !== 'stopped') continue
      for (let index = 0; index < definition.tasks; index++) {
        const key = `${definition.pipeline_id}/${index}`
        const known = finals.get(key)
        if (slots.has(key) || (known?.revision === definition.revision && known.attempt === definition.attempt)) continue
        if (placeTask(fleet.members(), definition.pipeline_id, index) === options.processorId)
          finals.set(key, { ...observe(newSlot(key, definition, index), undefined), status: 'stopped' })
      }
    }
  }

  /** Records per second over the last stretch of at least two seconds. */
  function rateOf(slot: Slot, done: number): number {
    const since = now() - slot.recordsBefore.at
    if (since >= 2000) slot.recordsBefore = { at: now(), done, rate: Math.round(((done - slot.recordsBefore.done) * 1000) / since) }
    return slot.recordsBefore.rate
  }

  function observe(slot: Slot, view: TaskView | undefined): ObservedTask {
    return {
      pipeline_id: slot.definition.pipeline_id,
      task: slot.index,
      processor_id: options.processorId,
      revision: slot.definition.revision,
      attempt: slot.definition.attempt,
      status: slot.isFailed ? 'failed' : (view?.status ?? 'starting'),
      reason: slot.failure ?? view?.reason ?? null,
      at: new Date(now()).toISOString(),
      records_per_second: rateOf(slot, view?.recordsDone ?? 0),
      partitions: (view?.partitions ?? []).map(({ partition, position, end, steps }) => ({
        partition,
        position: String(position),
        end: String(end),
        lag: String(end > position ? end - position : 0n),
        steps,
      })),
    }
  }

  return {
    reconcile,
    observed: () => [...finals.values(), ...[...slots.values()].map((slot) => observe(slot, slot.task?.view()))],
    async close() {
      closed = true
      clearInterval(timer)
      await Promise.all([...slots.values()].map(end))
    },
  }
}
