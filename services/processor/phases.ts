/**
 * The phases of a round as one object. Tests alone replace some of them: `make chaos` wraps them with faults (`test/chaos/faults/`) to see
 * that its oracle notices, and `test/integration/freeze.test.ts` to stop a processor between two of them.
 */
import { createFetch } from '../../shared/kafka/wire/fetch.ts'
import { openLanes } from './lane/lanes.ts'
import { createAccounting } from './task/accounting.ts'
import { loadPositions } from './task/positions.ts'
import { commitRound } from './transaction/commit.ts'
import { deliver } from './transaction/deliver.ts'
import { createProducer } from './transaction/producer.ts'

const PHASES = { createFetch, openLanes, createAccounting, loadPositions, createProducer, deliver, commitRound }
export type Phases = typeof PHASES

/** A module of `test/chaos/faults/`. */
export type Faults = { wrap(phases: Phases): Phases }

/** `faults`: path of a module that wraps the phases; undefined in production. */
export async function openPhases(faults: string | undefined): Promise<Phases> {
  if (faults === undefined) return PHASES
  const { wrap }: Faults = await import(faults)
  return wrap(PHASES)
}
