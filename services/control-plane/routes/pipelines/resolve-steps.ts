/** The chain of a pipeline request: modules found, versions pinned, configs checked against their schemas and by starting them. */
import Ajv from 'ajv'
import addFormats from 'ajv-formats'
import type { PipelineRequest } from '../../../../shared/api/pipelines.ts'
import { invalidRequest, type Detail } from '../../../../shared/errors/service-error.ts'
import type { PipelineDefinition } from '../../../../shared/model/definition.ts'
import { runInSandbox } from '../../../../shared/smartmodule/sandbox.ts'
import type { Queryable } from '../../../../shared/store/database.ts'
import { findSmartModule, findVersion, getBinary } from '../../../../shared/store/smartmodules.ts'

type Step = PipelineDefinition['steps'][number]

/** Faults of a config against its module's `parameters`, where it declares any. */
function configFaults(parameters: unknown, config: unknown, root: string): Detail[] {
  if (typeof parameters !== 'object' || parameters === null) return []
  const ajv = addFormats.default(new Ajv.Ajv({ strict: false, allErrors: true }))
  const validate = ajv.compile(parameters)
  if (validate(config)) return []
  return (validate.errors ?? []).map(({ instancePath, message, params }) => {
    const member = params.missingProperty ?? params.additionalProperty
    const allowed = Array.isArray(params.allowedValues) ? `: ${params.allowedValues.join(', ')}` : ''
    return { path: `${root}${instancePath}${member === undefined ? '' : `/${member}`}`, message: `${message ?? 'is wrong'}${allowed}` }
  })
}

export async function resolveSteps(
  trx: Queryable,
  accountId: string,
  entries: PipelineRequest['processors'],
  details: Detail[],
): Promise<Step[]> {
  const steps: Step[] = []
  for (const [index, { module_id, version, config }] of entries.entries()) {
    const current = await findSmartModule(trx, accountId, module_id)
    if (!current) {
      details.push({ path: `/processors/${index}/module_id`, message: 'is not the id of a SmartModule' })
      continue
    }
    await trx('smartmodules').where({ id: current.id }).forShare()
    const pinned = version === undefined || version === current.version ? current : await findVersion(trx, module_id, version)
    if (!pinned) {
      details.push({ path: `/processors/${index}/version`, message: `is not a version of ${current.name}` })
      continue
    }
    details.push(...configFaults(pinned.config.parameters, config, `/processors/${index}/config`))
    steps.push({
      module_id,
      name: current.name,
      version: pinned.version,
      sha256: pinned.sha256,
      kind: pinned.kind,
      ...(pinned.extism_function ? { extism_function: pinned.extism_function } : {}),
      input_format: pinned.input_format,
      output_format: pinned.output_format,
      config,
    })
  }
  return steps
}

/** Starts every step in the sandbox as a processor would. Throws 400 naming the config that a module refuses. */
export async function assertChainStarts(trx: Queryable, pipelineId: string, steps: Step[]): Promise<void> {
  if (steps.length === 0) return
  const started = await runInSandbox({
    task: 'start',
    steps: await Promise.all(
      steps.map(async ({ sha256, kind, extism_function, config, input_format, output_format }, step) => ({
        binary: new Uint8Array(await getBinary(trx, sha256)),
        kind,
        ...(extism_function ? { extismFunction: extism_function } : {}),
        document: {
          config,
          input_format,
          output_format,
          input_prefix_length: 5,
          output_prefix: '',
          pipeline: pipelineId,
          step,
          partition: 0,
        },
      })),
    ),
  })
  if ('refused' in started)
    throw invalidRequest([
      { path: started.step === undefined ? '/processors' : `/processors/${started.step}/config`, message: started.refused },
    ])
}
