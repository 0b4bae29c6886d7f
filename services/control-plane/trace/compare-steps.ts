/** What two versions of one step make of the same records. */
import type { Difference } from '../../../shared/api/canary.ts'
import type { Trace } from '../../../shared/api/operate.ts'
import type { PipelineDefinition } from '../../../shared/model/definition.ts'
import { traceThrough, type SourceRecord } from './trace.ts'

/** `left`: records that could not be compared, because what the steps made of them was too large to be shown. */
export type Comparison = { compared: number; left: number; failed: number; differences: Difference[] }

type Step = PipelineDefinition['steps'][number]
type Traced = Parameters<typeof traceThrough>

/** Step `index` of the chain beside `other`, each behind the same steps. A record that does not reach the step counts nowhere. */
export async function compareSteps(
  deps: Traced[0],
  chain: Traced[1],
  index: number,
  other: Step,
  records: SourceRecord[],
): Promise<Comparison> {
  if (records.length === 0) return { compared: 0, left: 0, failed: 0, differences: [] }
  const before = chain.steps.slice(0, index + 1)
  const [old, next] = [
    await traceThrough(deps, { ...chain, steps: before }, records),
    await traceThrough(deps, { ...chain, steps: [...before.slice(0, -1), other] }, records),
  ]
  const result: Comparison = { compared: 0, left: 0, failed: 0, differences: [] }
  for (const [at, record] of records.entries()) {
    const [was, is] = [stepOf(old[at], index), stepOf(next[at], index)]
    if (!was || !is) result.left++
    else if (was.outcome !== 'not_reached') {
      result.compared++
      if (madeBy(was) === madeBy(is)) continue
      if (is.error && !was.error) result.failed++
      result.differences.push({ partition: record.partition, offset: Number(record.offset), before: was, after: is })
    }
  }
  return result
}

/** A trace is missing behind a record at which the chain hung, and cut where its records would take too much room. */
const stepOf = (trace: Trace | undefined, index: number): Trace['steps'][number] | undefined =>
  trace && !trace.truncated ? trace.steps[index] : undefined

const madeBy = ({ out, error }: Trace['steps'][number]): string => JSON.stringify([out, error])
