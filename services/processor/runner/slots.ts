/**
 * Starts and stops the tasks of this runner: the supervisor says what should run here. Each pass compares the wanted tasks with the running
 * ones; passes may run any number of times, triggered by anything.
 */
import { runIdOf, type PipelineDefinition } from '../../../shared/model/definition.ts'
import { observedKey, type ObservedTask } from '../../../shared/model/observed.ts'
import { isSameTask, type TaskId } from '../../../shared/model/task.ts'
import { newSlot, observe, type Slot } from './slot.ts'
import { createTaskLife, type TaskLifeOptions } from './task-life.ts'

export type SlotsOptions = TaskLifeOptions & {
  /** A task that is no longer wanted has ended; this is its last report. */
  onEnded(assignment: number, last: ObservedTask): void
}

/** What the supervisor has assigned of a run (`channel/protocol.ts`). */
export type Wanted = { assignment: number; definition: PipelineDefinition; tasks: readonly TaskId[] }

export type Slots = {
  /** These tasks of the run are wanted, with this definition; none for a run that is no longer wanted. */
  assign(runId: string, wanted: Wanted | undefined): void
  observed(): ObservedTask[]
  close(): Promise<void>
}

const PASS_MS = 500

export function openSlots(options: SlotsOptions): Slots {
  const { now, processorId } = options
  const wanted = new Map<string, Wanted>()
  const slots = new Map<string, Slot>()
  const life = createTaskLife(options)
  let closed = false

  function wantedOf({ definition, id }: Slot): PipelineDefinition | undefined {
    const found = closed ? undefined : wanted.get(runIdOf(definition))
    return found?.tasks.some((each) => isSameTask(each, id)) ? found.definition : undefined
  }

  async function end(slot: Slot): Promise<void> {
    slot.isClosing = true
    const { task } = slot
    await task?.stop()
    slot.lastView = task?.view() ?? slot.lastView
    slot.task = undefined
    slots.delete(slot.key)
    options.telemetry.forget(runIdOf(slot.definition), slot.id)
    if (!wantedOf(slot))
      options.onEnded(
        slot.assignment,
        observe({ ...slot, failure: null }, () => [], processorId, now()),
      )
    options.onChange()
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
    if (!slot.task && !slot.isStarting && slot.end === undefined && slot.retryAt <= performance.now()) void life.start(slot)
  }

  function reconcile(): void {
    if (closed) return
    for (const slot of slots.values()) {
      if (slot.isClosing) continue
      const next = wantedOf(slot)
      // When a revision changes the number of tasks, only the added and removed ones join or leave the group; the others keep running.
      if (!next || next.attempt !== slot.definition.attempt) void end(slot).then(reconcile)
      else follow(slot, next)
    }
    for (const [runId, { definition, tasks, assignment }] of wanted) {
      for (const id of tasks) {
        const key = observedKey(runId, id)
        const known = slots.get(key)
        if (known) {
          known.assignment = assignment
          continue
        }
        const slot = newSlot(key, definition, id, assignment, now())
        slots.set(key, slot)
        void life.start(slot)
      }
    }
  }
  const timer = setInterval(reconcile, PASS_MS)

  return {
    assign(runId, given) {
      if (given) wanted.set(runId, given)
      else wanted.delete(runId)
      reconcile()
    },
    observed: () =>
      [...slots.values()].map((slot) => {
        const measuresOf = (revision: number) => options.telemetry.measuresOf(runIdOf(slot.definition), slot.id, revision)
        return observe(slot, measuresOf, processorId, now())
      }),
    async close() {
      closed = true
      clearInterval(timer)
      await Promise.all([...slots.values()].map(end))
    },
  }
}
