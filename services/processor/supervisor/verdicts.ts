/**
 * Pipelines that have ended their runner again and again: they have failed, and no other processor takes them. A verdict is a record on
 * `dps.fleet`, for that revision and attempt only.
 */
import { z } from 'zod'
import { runIdOf, type PipelineDefinition } from '../../../shared/model/definition.ts'
import { openFleetRecords, type FleetTopic } from './fleet-records.ts'

const Verdict = z.object({ run_id: z.string(), revision: z.number(), attempt: z.number(), reason: z.string() })

export type Verdicts = {
  /** Why the run has failed; undefined when it has not, or for another revision or attempt. */
  of(definition: PipelineDefinition): string | undefined
  fail(definition: PipelineDefinition, reason: string): void
  /** Forgets the runs that are not known any more, and writes what could not be written so far. */
  update(isKnown: (runId: string) => boolean): void
  caughtUp: Promise<void>
  close(): Promise<void>
}

export function openVerdicts(around: FleetTopic): Verdicts {
  /** By run. */
  const verdicts = openFleetRecords({ ...around, purpose: 'verdicts', prefix: 'verdict/', schema: Verdict })
  return {
    of(definition) {
      const found = verdicts.values.get(runIdOf(definition))
      return found?.revision === definition.revision && found.attempt === definition.attempt ? found.reason : undefined
    },
    fail(definition, reason) {
      const { revision, attempt } = definition
      const run_id = runIdOf(definition)
      verdicts.put(run_id, { run_id, revision, attempt, reason })
    },
    update(isKnown) {
      for (const runId of [...verdicts.values.keys()].filter((each) => !isKnown(each))) verdicts.remove(runId)
      verdicts.write()
    },
    caughtUp: verdicts.caughtUp,
    close: verdicts.close,
  }
}
