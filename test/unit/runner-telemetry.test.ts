/** What a runner tells of its tasks: numbers and lines belong to the revision that they are of. */
import { expect, it } from 'vitest'
import { createRunnerTelemetry } from '../../services/processor/runner/telemetry.ts'
import type { LaneChain } from '../../services/processor/lane/messages.ts'
import { CANARY_MEASURES, type Measure } from '../../shared/model/telemetry.ts'

const TASK = { role: 'chain', task: 0 } as const
const chainOf = (revision: number) => ({ runId: 'p', task: 0, revision }) as LaneChain
const counted = (name: string, sum: number): Measure => ({ step: 1, name, kind: 'count', times: 1, sum })

it('a revision that has just taken over has measured nothing, whatever the one before did', () => {
  const telemetry = createRunnerTelemetry(
    () => {},
    () => 0,
  )
  const off = counted(CANARY_MEASURES.off, 2)
  telemetry.onMeasured(chainOf(2), [off])
  expect(telemetry.measuresOf('p', TASK, 2)).toEqual([off])
  expect(telemetry.measuresOf('p', TASK, 3)).toEqual([])
  const seen = counted('seen', 5)
  telemetry.onMeasured(chainOf(3), [seen])
  expect(telemetry.measuresOf('p', TASK, 3)).toEqual([seen])
  telemetry.close()
})
