/** Runs the tests that are kept with a SmartModule over a version that is not deployed yet. */
import type { ModuleTest } from '../../../../shared/api/smartmodules.ts'
import type { Trace } from '../../../../shared/api/operate.ts'
import { isSameJson } from '../../../../shared/model/exact-json.ts'
import type { PipelineDefinition } from '../../../../shared/model/definition.ts'
import { ServiceError, type Detail } from '../../service-error.ts'
import { JSON_ENDS, traceThrough, type TraceDeps } from '../../trace/trace.ts'
import { givenRecords, UNDEPLOYED } from './given-records.ts'

type Step = PipelineDefinition['steps'][number]
/** The version, as a step without a config. */
export type Candidate = Pick<Step, 'sha256' | 'kind' | 'extism_function' | 'input_format' | 'output_format' | 'allowed_hosts'> & {
  binary: Uint8Array
}

const NOT_RUN = 'the version does not return for this record, or not in the time that all have: the ones after it were not run'
const SHOWN_MAX = 200
const shown = (value: unknown): string => {
  const text = JSON.stringify(value) ?? 'nothing'
  return text.length <= SHOWN_MAX ? text : `${text.slice(0, SHOWN_MAX)}…`
}

const valuesOf = (traces: Trace[]): unknown[] =>
  traces.flatMap(({ outputs }) => outputs.map(({ value }) => (value !== null && 'json' in value ? value.json : value)))

/** The first difference between what is made and what is expected. */
function difference(path: string, made: unknown[], expected: unknown[]): Detail[] {
  const at = Array.from({ length: Math.max(made.length, expected.length) }).findIndex(
    (_, i) => made.length <= i || expected.length <= i || !isSameJson(made[i], expected[i]),
  )
  return at < 0 ? [] : [{ path: `${path}/${at}`, message: `is ${shown(expected[at])}, and the version makes ${shown(made[at])}` }]
}

/** What the tests find wrong, by their paths in the request; empty where all pass. */
export async function testFaults(
  deps: TraceDeps,
  accountId: string,
  { binary, ...candidate }: Candidate,
  tests: ModuleTest[],
): Promise<Detail[]> {
  const details: Detail[] = []
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
