/** A hot swap under load: the next revision marks its records with its own number. */
import { stepsOf } from '../arena.ts'
import { until } from '../client.ts'
import type { Catastrophe } from './catastrophe.ts'

export const swapRevision: Catastrophe = {
  name: 'swap-revision',
  takesMs: 5000,
  async run(arena) {
    const { id, moduleIds } = arena.pipeline
    // A control plane may stand still just now. The change itself is made once: whether an unanswered one was made is not known.
    const current = await until('the revision', 40_000, () => arena.api<{ revision: number }>('GET', `/pipelines/${id}`))
    const updated = await arena.api<{ revision: number }>('PATCH', `/pipelines/${id}`, {
      processors: stepsOf(moduleIds, current.revision + 1),
    })
    arena.revision = updated.revision
    return `to revision ${updated.revision}`
  },
}
