/** What two versions of one step make of the same records, compared byte for byte. */
import type { Difference } from '../../../shared/api/canary.ts'
import type { PipelineDefinition } from '../../../shared/model/definition.ts'
import { shownBytes } from '../shown/bytes.ts'
import type { Traced, TracedStep } from '../workshop/jobs.ts'
import { isSameRecord } from '../workshop/same-record.ts'
import { JSON_ENDS, describe, runTrace, type Chain, type SourceRecord, type TraceDeps } from './trace.ts'

/** `left`: records that were not compared: too large to be kept whole, or behind the time that both versions had together. */
export type Comparison = { compared: number; left: number; failed: number; differences: Difference[] }

type Step = PipelineDefinition['steps'][number]

const isSameStep = (a: TracedStep, b: TracedStep): boolean =>
  a.error?.code === b.error?.code &&
  a.error?.message === b.error?.message &&
  a.outCount === b.outCount &&
  a.out.every((record, at) => isSameRecord(record, b.out[at]!))

/** Step `index` of the chain beside `other`, each behind the same steps. A record that does not reach the step counts nowhere. */
export async function compareSteps(
  deps: TraceDeps,
  chain: Chain,
  index: number,
  other: Step,
  records: SourceRecord[],
): Promise<Comparison> {
  const result: Comparison = { compared: 0, left: 0, failed: 0, differences: [] }
  if (records.length === 0) return result
  // What is compared goes to the next step, unless it is the last one's.
  const sink = index === chain.steps.length - 1 ? chain.sink : JSON_ENDS.sink
  const running = { ...chain, sink, steps: chain.steps.slice(0, index + 1) }
  const trying = { ...chain, sink, steps: [...chain.steps.slice(0, index), other] }
  const old = await runTrace(deps, running, records)
  const next = await runTrace(deps, trying, records)
  const room = shownBytes()

  function compare(at: number, before: Traced, after: Traced): void {
    const [was, is] = [before.steps[index], after.steps[index]]
    if (!was && !is) return
    if (!was || !is || was.isCut || is.isCut) return void result.left++
    result.compared++
    if (isSameStep(was, is)) return
    if (is.error && !was.error) result.failed++
    const [shownBefore, shownAfter] = [describe(running, old.records[at]!, before, room), describe(trying, old.records[at]!, after, room)]
    const { partition, offset } = records[at]!
    result.differences.push({ partition, offset: Number(offset), before: shownBefore.steps[index]!, after: shownAfter.steps[index]! })
  }

  const both = Math.min(old.traced.length, next.traced.length)
  for (let at = 0; at < both; at++) compare(at, old.traced[at]!, next.traced[at]!)
  // The time is for all records together: only alone does a record show whether the new version ends with it.
  const isSuspect = next.hanging !== undefined && next.traced.length === both && old.traced.length > both
  let after = isSuspect ? next.hanging : undefined
  if (isSuspect && records.length > 1) {
    const alone = await runTrace(deps, trying, [records[both]!])
    after = alone.traced[0] ?? alone.hanging
  }
  if (after) compare(both, old.traced[both]!, after)
  result.left += records.length - both - (after ? 1 : 0)
  return result
}
