/** The steps of a pipeline's chain, as requests have them. */
import { writeJson } from '../../../clients/typescript/src/core/exact-json.ts'
import type { Pipeline } from '../../../clients/typescript/src/generated/types.ts'

type Running = Pipeline['processors'][number]
/** Without a version it is the newest one. */
export type Step = Pick<Running, 'module_id' | 'config'> & Partial<Pick<Running, 'version' | 'on_error' | 'timeout_ms' | 'changes_keys'>>

/** The steps of a pipeline as it is shown, where each has a policy: one that is the pipeline's stays the pipeline's. */
export const stepsOf = (pipeline: Pick<Pipeline, 'processors' | 'on_error'>): Step[] =>
  pipeline.processors.map(({ module_id, version, config, on_error, timeout_ms, changes_keys }) => ({
    module_id,
    version,
    config,
    ...(writeJson(on_error) === writeJson(pipeline.on_error) ? {} : { on_error }),
    ...(timeout_ms === undefined ? {} : { timeout_ms }),
    ...(changes_keys ? { changes_keys } : {}),
  }))

const keys = new WeakMap<Step, number>()
let last = 0
/** Tells a step from the others while it is moved and changed: what is half-typed in its fields moves with it. */
export function keyOf(step: Step): number {
  const key = keys.get(step) ?? ++last
  keys.set(step, key)
  return key
}

/** The steps with one of them changed, which keeps its key. */
export function changed(steps: readonly Step[], index: number, next: Step): Step[] {
  keys.set(next, keyOf(steps[index]!))
  return steps.with(index, next)
}
