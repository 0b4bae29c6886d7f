/**
 * Starts and stops the tasks of this processor: the definitions say what should run, the fleet says where. Each pass compares the wanted
 * tasks with the running ones; passes may run any number of times, triggered by anything.
 */
import { runIdOf, taskNumbersOf, type ObservedTask, type PipelineDefinition } from '../../../shared/model/definition.ts'
import { placeTask } from './placement.ts'
import { newSlot, observe, type Slot } from './slot.ts'
import { createTaskLife, type TaskLifeOptions } from './task-life.ts'

export type Supervisor = {
  /** Compares the wanted tasks with the running ones. */
  reconcile(): void
  observed(): ObservedTask[]
  /** Starts no more tasks; running ones go on until `close`. */
  drain(): void
  close(): Promise<void>
}

const PASS_MS = 500

type Wanted = { definition: PipelineDefinition; index: number }

export function openSupervisor(options: TaskLifeOptions): Supervisor {
  const { declined, definitions, fleet, now, processorId } = options
  const slots = new Map<string, Slot>()
  /** The final report of each task of a stopped pipeline, kept until the task starts again or the pipeline is deleted. */
  const finals = new Map<string, ObservedTask>()
  const life = createTaskLife(options, () => reconcile())
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
      if (slot.task) void life.update(slot, next)
      else if (slot.end !== 'failed' && !slot.isStarting) [slot.failures, slot.retryAt] = [0, 0]
    }
    if (!slot.task && !slot.isStarting && slot.end === undefined && slot.retryAt <= now() && !draining) void life.start(slot)
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
      void life.start(slot)
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
