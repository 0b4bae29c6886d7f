/** Runs the tests that are kept with a SmartModule over a version that is not deployed yet. */
import type { ModuleTest } from '../../../../shared/api/smartmodules.ts'
import type { Trace } from '../../../../shared/api/observability.ts'
import { isSameJson } from '../../../../shared/model/exact-json.ts'
import type { PipelineDefinition } from '../../../../shared/model/definition.ts'
import { ServiceError, type Detail } from '../../service-error.ts'
import { parsedOf } from '../../shown/print-json.ts'
import { JSON_ENDS, traceThrough, type TraceDeps } from '../../trace/trace.ts'
import { chainFaults } from '../../definitions/resolve-steps.ts'
import { givenRecords, UNDEPLOYED } from './given-records.ts'

type Step = PipelineDefinition['steps'][number]
/** The version, as a step without a config. */
export type Candidate = Pick<Step, 'sha256' | 'kind' | 'extism_function' | 'input_format' | 'output_format' | 'allowed_hosts'> & {
  binary: Uint8Array
  /** The JSON Schema of its config. */
  parameters: Record<string, unknown> | undefined
}

const NOT_RUN = 'the version does not return for this record, or not in the time that all have: the ones after it were not run'
const SHOWN_MAX = 200
const shown = (value: unknown): string => {
  const text = JSON.stringify(value) ?? 'nothing'
  return text.length <= SHOWN_MAX ? text : `${text.slice(0, SHOWN_MAX)}…`
}

const valuesOf = (traces: Trace[]): unknown[] =>
  traces.flatMap(({ outputs }) => outputs.map(({ value }) => (value !== null && 'json' in value ? parsedOf(value.json) : value)))

/** The first difference between what is made and what is expected. */
function difference(path: string, made: unknown[], expected: unknown[]): Detail[] {
  const at = Array.from({ length: Math.max(made.length, expected.length) }).findIndex(
    (_, i) => made.length <= i || expected.length <= i || !isSameJson(made[i], expected[i]),
  )
  return at < 0 ? [] : [{ path: `${path}/${at}`, message: `is ${shown(expected[at])}, and the version makes ${shown(made[at])}` }]
}

/** Faults of the tests' configs by the version's schema, which a pipeline would be refused for. */
async function configFaults(deps: TraceDeps, accountId: string, candidate: Candidate, tests: ModuleTest[]): Promise<Detail[]> {
  const { binary, parameters, ...definition } = candidate
  const steps = tests.map(({ config }, index) => ({
    index,
    bytes: binary.length,
    parameters,
    definition: { ...UNDEPLOYED, ...definition, name: 'version', config },
  }))
  const found = await chainFaults(deps, { id: 'test', account_id: accountId }, steps, true)
  return found.map(({ path, message }) => ({ path: path.replace('/processors', '/tests'), message }))
}

/** What the tests find wrong, by their paths in the request; empty where all pass. */
export async function testFaults(deps: TraceDeps, accountId: string, version: Candidate, tests: ModuleTest[]): Promise<Detail[]> {
  const { binary, parameters, ...candidate } = version
  const details = parameters ? await configFaults(deps, accountId, version, tests) : []
  if (details.length > 0) return details
  for (const [index, { config, records, out, failures }] of tests.entries()) {
    const step: Step = { ...UNDEPLOYED, ...candidate, name: 'version', config }
    const chain = { account_id: accountId, pipeline_id: 'test', steps: [step], ...JSON_ENDS }
    try {
      const traces = await traceThrough(deps, chain, givenRecords(records), new Map([[candidate.sha256, binary]]))
      if (traces.length < records.length) {
        // What is missing of the output says nothing then.
        details.push({ path: `/tests/${index}/records/${traces.length - 1}`, message: NOT_RUN })
        continue
      }
      details.push(
        ...difference(`/tests/${index}/out`, valuesOf(traces), out),
        ...difference(
          `/tests/${index}/failures`,
          traces.flatMap(({ steps }) => (steps[0]?.error ? [steps[0].error.message] : [])),
          failures,
        ),
      )
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== 'conflict') throw error
      details.push({ path: `/tests/${index}/config`, message: error.message })
    }
  }
  return details
}
