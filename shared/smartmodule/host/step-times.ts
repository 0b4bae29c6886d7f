/** How long the steps of a chain take: on the clock, for all records of a batch together. HOT: work per batch and per step. */
import { STEP_MEASURES } from '../../model/telemetry.ts'
import type { StepTelemetry } from './spec.ts'

/** The clock of a chain's steps. */
export type StepTimes = {
  /** The steps begin to run over a batch. */
  begin(): void
  /** The step has run over so many records. Steps count from 0. */
  ran(step: number, records: number): void
  /** Measures what has come together since it was told last. */
  tell(): void
}

const NANOSECONDS_PER_MS = 1e6

/** The clock of a chain with so many steps, which tells its sums to `telemetry`. */
export function createStepTimes(stepCount: number, telemetry: StepTelemetry): StepTimes {
  const ms = new Float64Array(stepCount)
  const counts = new Float64Array(stepCount)
  let last = 0
  return {
    begin() {
      last = performance.now()
    },
    ran(step, records) {
      const now = performance.now()
      ms[step]! += now - last
      counts[step]! += records
      last = now
    },
    tell() {
      for (let step = 0; step < stepCount; step++) {
        if (counts[step] === 0) continue
        telemetry.measure(step, 'count', STEP_MEASURES.nanoseconds, Math.round(ms[step]! * NANOSECONDS_PER_MS))
        telemetry.measure(step, 'count', STEP_MEASURES.records, counts[step]!)
      }
      ms.fill(0)
      counts.fill(0)
    },
  }
}
