/** A pipeline's canary in its definition, where it handles the records of a share of the keys. */
import type { CanaryDefinition, PipelineDefinition } from '../../../shared/model/definition.ts'
import { anew, storeRevision } from '../publisher/enqueue.ts'
import type { Queryable } from '../store/database.ts'
import type { PipelineRow } from '../store/pipelines.ts'

type Step = PipelineDefinition['steps'][number]

/** Whether one of the steps has a canary. */
export const hasCanary = ({ steps }: Pick<PipelineDefinition, 'steps'>): boolean => steps.some(({ canary }) => canary)

/** The steps as the running versions alone handle them; a job runs them so, because it may outlast the canary. */
export const withoutCanaries = (steps: readonly Step[]): Step[] => steps.map((step) => ({ ...step, canary: undefined }))

/** The version of a step as a canary with this share. */
export function canaryOf(version: Step, share: number, maxFailing: number): CanaryDefinition {
  const { sha256, kind, extism_function, input_format, output_format, config, allowed_hosts } = version
  return {
    version: version.version,
    sha256,
    kind,
    ...(extism_function ? { extism_function } : {}),
    input_format,
    output_format,
    config,
    ...(allowed_hosts ? { allowed_hosts } : {}),
    share,
    max_failing: maxFailing,
  }
}

/**
 * The pipeline's next revision, with this canary at a step (from 0) and at no other, or without any; the row is locked. `hasFailedBy`: a
 * pipeline that has failed because of its canary starts anew.
 */
export async function storeCanaryRevision(
  trx: Queryable,
  row: PipelineRow,
  canary: { step: number; definition: CanaryDefinition } | undefined,
  hasFailedBy = false,
): Promise<PipelineRow> {
  const steps = withoutCanaries(row.definition.steps).map((step, index) =>
    index === canary?.step ? { ...step, canary: canary.definition } : step,
  )
  const again = hasFailedBy && row.status === 'failed' ? anew(row) : {}
  return storeRevision(trx, row, { ...row.definition, revision: row.revision + 1, steps }, again)
}
