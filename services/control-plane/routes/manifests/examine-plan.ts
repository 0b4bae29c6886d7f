/** What can be said of a plan's pipelines before any of its changes is made. */
import type { Caller } from '../../deps.ts'
import { toServiceError } from '../../middleware/errors.ts'
import type { Asked, Planned } from '../../manifests/plan.ts'
import { invalidRequest, type Detail } from '../../service-error.ts'
import { assertValid, type StoreDeps } from '../pipelines/create-pipeline.ts'
import { faultsInManifest, requestFor } from './apply.ts'

/**
 * Throws all that is wrong with pipelines to be made of streams and SmartModules that are there and stay as they are. Others are looked at
 * when they are made: what they are made of is not there before. Other failures are not the plan's.
 */
export async function assertMakeable(deps: StoreDeps, caller: Caller, { manifest }: Asked, { changes }: Planned): Promise<void> {
  const changing = new Set(changes.map(({ kind, name }) => `${kind} ${name}`))
  const faults: Detail[] = []
  for (const { kind, name, action } of changes) {
    if (kind !== 'pipeline' || action !== 'create') continue
    const part = manifest.pipelines[name]!
    const streams = [part.source, part.sink].flatMap((end) => ('stream' in end ? [`stream ${end.stream}`] : []))
    const uses = [...streams, ...part.steps.map(({ module }) => `smartmodule ${module}`)]
    if (uses.some((each) => changing.has(each))) continue
    try {
      await assertValid(deps, caller, await requestFor({ deps, caller }, name, part))
    } catch (error) {
      const { code, details = [] } = toServiceError(error)
      if (code !== 'invalid_request') continue
      faults.push(...faultsInManifest(kind, name, details))
    }
  }
  if (faults.length > 0) throw invalidRequest(faults)
}
