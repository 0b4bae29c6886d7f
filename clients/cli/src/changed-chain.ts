/** A pipeline's chain as it runs, or as a manifest has it: run over records of the source, before it is applied. */
import { Option } from 'commander'
import { z } from 'zod'
import type { Client, Manifest } from '../../typescript/src/index.ts'
import { idOf, type Context } from './context.ts'
import { faultsIn, manifestIn } from './manifest-file.ts'
import { Misused, ofFiles, sourceLocation } from './outcome.ts'
import type { Trial } from './trials.ts'

type Previewed = Awaited<ReturnType<Client['pipelines']['preview']>>
type Choice = Pick<Trial, 'from' | 'partition' | 'limit' | 'dead_letters'>
/** `run` runs the chain over the chosen records of the pipeline. */
export type Chain = { run(choice: Choice): Promise<Omit<Previewed, 'pipeline_id'>> }

/** The option that chooses another chain. */
export const manifestOption = () => new Option('--manifest <file>', 'not the chain that runs, but what this manifest has for the pipeline')

const Steps = z
  .array(z.looseObject({ module: z.string(), version: z.string().optional(), with: z.record(z.string(), z.unknown()).nullish() }))
  .nullish()
type Step = NonNullable<NonNullable<z.output<typeof Steps>>[number]>

/** The steps that the manifest has for the pipeline. Throws Misused where it has none, or what is not a step. */
function stepsIn(manifest: Manifest, file: string, name: string): Step[] {
  const part: unknown = manifest.pipelines?.[name]
  if (typeof part !== 'object' || part === null) throw new Misused(`${file} has no pipeline named ${name}`)
  const steps = Steps.safeParse('steps' in part ? part.steps : [])
  if (steps.success) return steps.data ?? []
  throw new Misused(`${file}: ${faultsIn(steps.error, `pipelines.${name}.steps.`)}`)
}

/** The chain of the pipeline that is given by name or id; with a `file` the one that this manifest has for it. */
export async function chainOf(context: Context, given: string, file: string | undefined): Promise<Chain> {
  const { dps } = context
  const pipelineId = await idOf(context, 'pipeline', given)
  if (file === undefined) return { run: (choice) => dps.pipelines.preview(pipelineId, choice) }
  const [{ manifest, sources }, { name }] = [await manifestIn(file), await dps.pipelines.get(pipelineId)]
  const steps = stepsIn(manifest, file, name)
  // One with a version runs as it was deployed.
  const isOwn = ({ module, version }: Step): boolean => version === undefined && Object.hasOwn(manifest.smartmodules ?? {}, module)
  if (!steps.some(isOwn)) {
    const processors = steps.map(({ module, with: config, ...step }) => ({ module_id: module, config: config ?? {}, ...step }))
    return { run: (choice) => dps.pipelines.preview(pipelineId, { ...choice, processors }) }
  }
  // What the manifest has for its SmartModules may not be deployed yet.
  const processors = steps.map((step): Trial['processors'][number] => {
    const config = step.with ?? {}
    if (!isOwn(step)) return { module_id: step.module, config, ...(step.version === undefined ? {} : { version: step.version }) }
    const { source: code, wasm_binary, config: formats } = manifest.smartmodules?.[step.module] ?? {}
    const { input_format, output_format, allowed_hosts } = formats ?? {}
    const known = Object.entries({ source: code, wasm_binary, input_format, output_format, allowed_hosts })
    return { ...Object.fromEntries(known.filter(([, value]) => value !== undefined)), name: step.module, config }
  })
  const fileOf = (path: string) => sources.get(steps[Number(path.split('/').at(-1))]?.module ?? '')
  return { run: (choice) => ofFiles(sourceLocation(fileOf), dps.smartmodules.test({ ...choice, processors, pipeline_id: pipelineId })) }
}
