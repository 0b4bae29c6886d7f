/**
 * Injected faults: each breaks one of the delivery rules, in tasks and intakes alike, and the oracle must notice. A processor loads this
 * module where `DPS_FAULTS` names it and NODE_ENV is `test`; `FAULT` names the fault, followed by `:` and a path where it waits for that
 * file.
 */
import { fileURLToPath } from 'node:url'
import type { Phases } from '../../../services/processor/phases.ts'
import { FREEZES, type Freeze } from './freezes.ts'
import { MUTATIONS, type Mutation } from './mutations.ts'

type Fault = Mutation | Freeze

const FAULTS: Record<string, (phases: Phases) => Phases> = { ...MUTATIONS, ...FREEZES }

/** The environment of a processor that has the fault; a freeze waits until the file `armedBy` exists. */
export const environmentOf = (fault: Fault, armedBy?: string) => ({
  DPS_FAULTS: fileURLToPath(import.meta.url),
  FAULT: armedBy === undefined ? fault : `${fault}:${armedBy}`,
  NODE_ENV: 'test',
})

export function wrap(phases: Phases): Phases {
  const fault = FAULTS[(process.env.FAULT ?? '').split(':')[0]!]
  if (!fault) throw new Error(`FAULT=${process.env.FAULT} is not one of ${Object.keys(FAULTS).join(', ')}`)
  return fault(phases)
}
