/**
 * What a chain's SmartModules log and measure in a lane. Lines leave at once, because a call that never returns takes the lane with it; a
 * run has room for a limited number. Measures leave with their run's answer: a run that is given up counts nothing.
 */
import { addUp, cutLine, MEASURES_MAX, OWN_MEASURES, type LogLevel, type Measure } from '../../../shared/model/telemetry.ts'
import type { StepTelemetry } from '../../../shared/smartmodule/host/spec.ts'

/** A line of a step, which counts from 0. */
export type LaneLine = { step: number; level: LogLevel; message: string }

const LINES_PER_RUN = 100

export type LaneTelemetry = StepTelemetry & {
  /** A run of the chain begins, or its start. */
  begin(chainId: number): void
  /** The run is over; returns what was measured in it. */
  end(): Measure[]
}

/** `onLines` gets lines, or how many there was no room for. */
export function createLaneTelemetry(onLines: (chainId: number, lines: LaneLine[], dropped: number) => void): LaneTelemetry {
  let chainId = 0
  let lines = 0
  let measures = new Map<string, Measure>()
  return {
    begin(id) {
      chainId = id
      lines = 0
      if (measures.size > 0) measures = new Map()
    },
    log(step, level, line) {
      if (++lines <= LINES_PER_RUN) onLines(chainId, [{ step, level, message: cutLine(line) }], 0)
    },
    measure(step, kind, name, value) {
      const key = `${step} ${kind} ${name}`
      let found = measures.get(key)
      if (!found) {
        if (measures.size >= MEASURES_MAX * (step + 1) && !name.startsWith(OWN_MEASURES)) return
        measures.set(key, (found = { step: step + 1, name, kind, times: 0, sum: 0 }))
      }
      found.times++
      found.sum = addUp(found.sum, value)
    },
    end() {
      if (lines > LINES_PER_RUN) onLines(chainId, [], lines - LINES_PER_RUN)
      return measures.size > 0 ? [...measures.values()] : NOTHING
    },
  }
}

const NOTHING: Measure[] = []
