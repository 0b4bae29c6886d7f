/** Manifests: plan, apply, and the set as it is. */
import {
  applyManifestContract,
  getManifestContract,
  listManifestsContract,
  planManifestContract,
} from '../../../../shared/api/manifests.ts'
import { applyPlan } from './apply.ts'
import { assertMakeable } from './examine-plan.ts'
import { exportSet } from '../../manifests/export.ts'
import { planOf, type Asked, type ManifestPlan } from '../../manifests/plan.ts'
import { warningsIn } from '../../manifests/warnings.ts'
import { createOneAtATime } from '../../concurrency/one-at-a-time.ts'
import { notFound, ServiceError } from '../../service-error.ts'
import { listSets } from '../../store/manifests.ts'
import { operation } from '../operation.ts'

function show({ set, hash, changes, unchanged }: ManifestPlan, { manifest }: Asked) {
  const warnings = warningsIn(manifest)
  return { set, hash, changes, unchanged, ...(warnings.length > 0 ? { warnings } : {}) }
}

export const planManifestOperation = operation(planManifestContract, async (deps, caller, { body }) => {
  const plan = await planOf(deps.db, caller.accountId, body)
  await assertMakeable(deps, caller, body, plan)
  return { status: 200 as const, body: show(plan, body) }
})

/** By account: what one applies is what the next one is planned on. */
const applying = createOneAtATime()

export const applyManifestOperation = operation(applyManifestContract, (deps, caller, { body: { hash, ...asked } }) =>
  applying.run(caller.accountId, async () => {
    const plan = await planOf(deps.db, caller.accountId, asked)
    if (hash !== undefined && hash !== plan.hash)
      throw new ServiceError(
        'conflict',
        'this is another plan than that of the hash: the manifest, `prune` or `replace` differ, or something has changed since; plan again',
      )
    await assertMakeable(deps, caller, asked, plan)
    await applyPlan(deps, caller, asked, plan)
    return { status: 200 as const, body: show(plan, asked) }
  }),
)

export const listManifestsOperation = operation(listManifestsContract, async ({ db }, { accountId }) => ({
  status: 200,
  body: { sets: await listSets(db, accountId) },
}))

export const getManifestOperation = operation(getManifestContract, async ({ db }, { accountId }, { params }) => {
  const manifest = await exportSet(db, accountId, params.id)
  if (!manifest) throw notFound('the set')
  return { status: 200, body: { manifest } }
})
