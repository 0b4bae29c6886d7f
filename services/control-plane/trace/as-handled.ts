/**
 * A record's trace as the pipeline handled it. Where a canary has a share of the keys, a task may have stopped it before the record: which
 * version handled the record follows from what the canary would have made of it, and from the record's dead letters.
 */
import type { Trace } from '../../../shared/api/observability.ts'
import type { CanaryDefinition, PipelineDefinition } from '../../../shared/model/definition.ts'
import { isSameJson } from '../../../shared/model/exact-json.ts'
import { withoutCanaries } from '../definitions/canary-of.ts'
import type { DeadLetterRow } from '../store/dead-letters.ts'
import { canaryStepOf, traceThrough, versionsFor, type SourceRecord, type TraceDeps } from './trace.ts'

type Step = PipelineDefinition['steps'][number]
type Revision = { revision: number; definition: Pick<PipelineDefinition, 'steps'> }

/** `isHandled`: the pipeline is past the record. `mayBeOff`: the canary was ended, or is taken off by a task. */
export type Handled = { letters: readonly Pick<DeadLetterRow, 'step' | 'version'>[]; isHandled: boolean; mayBeOff: boolean }

/** Failures by which a task takes a canary off whatever it may fail. */
const TRAPS = ['module_trapped', 'module_timeout']

const isSameVersion = (a: Pick<Step, 'sha256' | 'config'>, b: Pick<Step, 'sha256' | 'config'>): boolean =>
  a.sha256 === b.sha256 && isSameJson(a.config, b.config)

/** Whether a later revision ended the canary of this one without making it the running version; undefined where none has come. */
export function endedAfter(revisions: readonly Revision[], revision: number, at: number): boolean | undefined {
  const canary = revisions.find((each) => each.revision === revision)?.definition.steps[at]?.canary
  if (!canary) return false
  const next = revisions
    .filter((each) => each.revision > revision)
    .toSorted((a, b) => a.revision - b.revision)
    .map(({ definition }) => definition.steps[at])
    .find((step) => !step?.canary || !isSameVersion(step.canary, canary))
  if (revisions.every((each) => each.revision <= revision)) return undefined
  return next === undefined ? undefined : !isSameVersion(next, canary)
}

/** Whether a record that the canary fails can't have been handled by it: it would have been taken off, or there would be a dead letter. */
const wouldShow = (code: string, { on_error }: Step, { max_failing }: CanaryDefinition): boolean =>
  TRAPS.includes(code) || max_failing === 0 || on_error.policy !== 'skip'

/** `uncertain` says what can't be known. Throws ServiceError `conflict` when the chain does not start. */
export async function traceAsHandled(
  deps: TraceDeps,
  definition: PipelineDefinition,
  record: SourceRecord,
  { letters, isHandled, mayBeOff }: Handled,
): Promise<{ trace: Trace; uncertain?: string }> {
  const [trace] = await traceThrough(deps, versionsFor(definition, record), [record])
  const at = canaryStepOf(definition, record)
  const step = definition.steps[at]
  const canary = step?.canary
  const shown = trace!.steps[at]
  if (!isHandled || !step || !canary || !shown || shown.outcome === 'not_reached') return { trace: trace! }
  const failedBy = (version: string): boolean => letters.some((each) => each.step === at + 1 && each.version === version)
  const isByRunning =
    shown.outcome === 'failed'
      ? mayBeOff && !failedBy(canary.version) && wouldShow(shown.error?.code ?? '', step, canary)
      : failedBy(step.version)
  if (isByRunning) {
    const running = { ...definition, steps: withoutCanaries(definition.steps) }
    return { trace: (await traceThrough(deps, running, [record]))[0]! }
  }
  if (!mayBeOff || failedBy(canary.version)) return { trace: trace! }
  const uncertain = `the record is of the canary’s share: ${step.name} ${step.version} handled it in place of ${canary.version} if a task had taken the canary off by then`
  return { trace: trace!, uncertain }
}
