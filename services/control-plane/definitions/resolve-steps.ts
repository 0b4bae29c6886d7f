/** Resolves a request's chain: finds modules, pins versions, checks configs against their schemas and by starting the modules. */
import { kernelBinary } from '../../../shared/smartmodule/host/kernel-binary.ts'
import { initDocumentOf } from '../../../shared/smartmodule/abi.ts'
import type { PipelineRequest } from '../../../shared/api/pipeline-requests.ts'
import { ServiceError, type Detail } from '../service-error.ts'
import { type OnError, type PipelineDefinition } from '../../../shared/model/definition.ts'
import { ON_ERROR_DEFAULT } from '../../../shared/model/policies.ts'
import type { Deps } from '../deps.ts'
import { binariesOf, sizeFaults, type Binaries } from './chain-binaries.ts'
import { namedMember, refusalsIn } from './named-member.ts'
import type { Queryable } from '../store/database.ts'
import {
  findSmartModuleReferred,
  findSmartModuleByName,
  findPlainVersion,
  type CurrentSmartModule,
  lockSmartModuleForUse,
} from '../store/smartmodules.ts'

type Step = PipelineDefinition['steps'][number]
/** `index` is the step's position in the request, `bytes` its binary's; entries that name no SmartModule or version are left out. */
export type ResolvedStep = { index: number; bytes: number; definition: Step; parameters: unknown }

/** `leftOut`: the positions of entries that are not looked at. */
export async function resolveSteps(
  trx: Queryable,
  accountId: string,
  entries: PipelineRequest['processors'],
  details: Detail[],
  leftOut: ReadonlySet<number> = new Set(),
): Promise<ResolvedStep[]> {
  const steps: ResolvedStep[] = []
  for (const [index, { module_id: named, version: asked, config, on_error, timeout_ms, changes_keys }] of entries.entries()) {
    if (leftOut.has(index)) continue
    const { current, version = asked } = await findByIdOrName(trx, accountId, named)
    if (!current) {
      details.push({ path: `/processors/${index}/module_id`, message: 'is not the id or name of a SmartModule' })
      continue
    }
    await lockSmartModuleForUse(trx, current.id)
    const pinned = version === undefined || version === current.version ? current : await findPlainVersion(trx, current.id, version)
    if (!pinned) {
      details.push({ path: `/processors/${index}/version`, message: `is not a version of ${current.name}` })
      continue
    }
    if (pinned.is_quarantined) {
      const message = `names ${current.name} ${pinned.version}, which is quarantined; name another version, or deploy a fixed one`
      details.push({ path: `/processors/${index}/${asked === undefined ? 'module_id' : 'version'}`, message })
      continue
    }
    steps.push({
      index,
      bytes: pinned.bytes,
      parameters: pinned.config.parameters,
      definition: {
        module_id: current.id,
        name: current.name,
        version: pinned.version,
        sha256: pinned.sha256,
        kind: pinned.kind,
        ...(pinned.extism_function ? { extism_function: pinned.extism_function } : {}),
        input_format: pinned.input_format,
        output_format: pinned.output_format,
        config,
        ...(pinned.config.allowed_hosts ? { allowed_hosts: pinned.config.allowed_hosts } : {}),
        on_error: on_error ?? ON_ERROR_DEFAULT,
        ...(timeout_ms === undefined ? {} : { timeout_ms }),
        changes_keys,
      },
    })
  }
  return steps
}

/** Throws 409 where the steps run other versions than those that were checked: one may have been deployed meanwhile. */
export function assertSameVersions(checked: readonly ResolvedStep[] | undefined, now: readonly ResolvedStep[]): void {
  const hashesOf = (steps: readonly ResolvedStep[]) => steps.map(({ definition }) => definition.sha256).join()
  if (checked && hashesOf(checked) !== hashesOf(now))
    throw new ServiceError('conflict', 'a version of a SmartModule was deployed at the same time; try again')
}

/** A module by its id, its name, or `name@version`. */
async function findByIdOrName(
  db: Queryable,
  accountId: string,
  text: string,
): Promise<{ current: CurrentSmartModule | undefined; version?: string }> {
  const current = await findSmartModuleReferred(db, accountId, text)
  const at = text.lastIndexOf('@')
  if (current || at < 1) return { current }
  return { current: await findSmartModuleByName(db, accountId, text.slice(0, at)), version: text.slice(at + 1) }
}

/** Gives steps without an error policy of their own the pipeline's. */
export function withPolicies(steps: Step[], entries: PipelineRequest['processors'], fallback: OnError): Step[] {
  return steps.map((step, index) => ({ ...step, on_error: entries[index]?.on_error ?? fallback }))
}

type StartDeps = Pick<Deps, 'db' | 'cacheFolder' | 'workshop'>
type Owned = { id: string; account_id: string }

const DEADLINES = { cpuMs: 5000, wallMs: 15_000 }

/**
 * Resolves the steps outside of a transaction, checks every config against its module's `parameters` and starts every step that passes as a
 * processor would; both in a workshop, because patterns and modules come from the account.
 */
export async function examineSteps(
  deps: StartDeps,
  pipeline: Owned,
  entries: PipelineRequest['processors'],
  leftOut: ReadonlySet<number> = new Set(),
) {
  const unknown: Detail[] = []
  const steps = await resolveSteps(deps.db, pipeline.account_id, entries, unknown, leftOut)
  const faults = await chainFaults(deps, pipeline, steps, false)
  return { steps, unknown, faults, details: [...unknown, ...faults] }
}

/** Returns the faults. May take seconds, so never call it in a transaction, whose locks others wait for. A dry run only checks configs. */
export async function chainFaults(
  { db, cacheFolder, workshop }: StartDeps,
  { id, account_id }: Owned,
  steps: ResolvedStep[],
  isDryRun: boolean,
  unstored: Binaries = new Map(),
): Promise<Detail[]> {
  const tooLarge = sizeFaults(steps)
  if (tooLarge.length > 0) return tooLarge
  let starting: number | undefined
  // Nothing is started in a dry run.
  const { binaries, indexOf } = binariesOf(db, isDryRun ? [] : steps.map(({ definition }) => definition.sha256), unstored)
  const answer =
    steps.length === 0
      ? { started: true as const }
      : await workshop.run(
          account_id,
          {
            kind: 'start',
            isDryRun,
            kernel: await kernelBinary(cacheFolder),
            binaries,
            steps: steps.map(
              ({ definition: { sha256, kind, extism_function, config, input_format, output_format }, parameters, index }) => ({
                binary: indexOf(sha256),
                kind,
                ...(extism_function ? { extismFunction: extism_function } : {}),
                parameters,
                document: initDocumentOf(
                  { config, input_format, output_format },
                  { pipeline: id, step: index, isFirst: true, output_prefix: '' },
                ),
              }),
            ),
          },
          DEADLINES,
          (progress) => {
            if ('starting' in progress) starting = progress.starting
          },
        )
  const faultsOf = (step: number, refused: string): Detail[] => {
    const config = steps.find(({ index }) => index === step)?.definition.config
    return refusalsIn(refused)
      .map((each) => namedMember(config, each))
      .map(({ path, message }) => ({ path: `/processors/${step}/config${path}`, message }))
  }
  if ('faults' in answer)
    return [
      ...answer.faults.map(({ step, path, message }) => ({ path: `/processors/${step}/config${path}`, message })),
      ...answer.refusals.flatMap(({ step, refused }) => faultsOf(step, refused)),
    ]
  if (!('refused' in answer)) return []
  // A step that never returns, or ends the process, can't say that it was the one.
  const step = answer.step ?? starting
  return step === undefined ? [{ path: '/processors', message: answer.refused }] : faultsOf(step, answer.refused)
}
