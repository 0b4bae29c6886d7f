/** How a task of a pipeline or job is named. */
import { z } from 'zod'

/** Tasks with the role `chain` run the chain; those with the role `intake` read an external source into the pipeline's intake topic. */
export const TASK_ROLES = ['chain', 'intake'] as const

/** A task of a run. Each role counts from 0. */
export const TaskId = z.object({ role: z.enum(TASK_ROLES).default('chain'), task: z.number().int().min(0) })
/** A validated task. */
export type TaskId = z.infer<typeof TaskId>

/** The chain's task with the number. */
export const chainTask = (task: number): TaskId => ({ role: 'chain', task })

/** The task's part of record keys, transactional ids and placement. */
export const taskName = ({ role, task }: TaskId): string => (role === 'chain' ? String(task) : `${role}.${task}`)

/** Whether both are the same task of a run. */
export const isSameTask = (a: TaskId, b: TaskId): boolean => a.role === b.role && a.task === b.task
