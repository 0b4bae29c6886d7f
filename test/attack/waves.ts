/**
 * Attacks in waves, with a pause behind each. The machine differs from minute to minute by more than an attack may do, so what the second
 * account notices is compared with the pauses of the same minutes.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Outcome } from './assaults.ts'
import { quantile } from './victim.ts'

/** What was noticed since the last call: times of records, the longest time without one, and the longest stall of a main process, in ms. */
export type Noticed = { times: number[]; gap: number; lag: number }
/** What was noticed while attacks ran, and in the pauses. */
export type Phase = { during: Noticed; between: Noticed }

const AT_ONCE = 3
const WAVE = 40
/** What an attack leaves behind ends meanwhile, and belongs to it: pipelines are deleted, processes killed, records that waited arrive. */
const SETTLE_MS = 3000
const PAUSE_MS = 10_000

const together = (a: Noticed, b: Noticed): Noticed => ({
  times: a.times.concat(b.times),
  gap: Math.max(a.gap, b.gap),
  lag: Math.max(a.lag, b.lag),
})
const NOTHING: Noticed = { times: [], gap: 0, lag: 0 }

export const p99 = ({ times }: Noticed): number => quantile(times, 0.99)

/** In a few words, for the log. */
export const said = (noticed: Noticed): string => `p99 ${p99(noticed)} ms, longest gap ${noticed.gap} ms, lag ${noticed.lag} ms`

/** Runs the attacks, some at once. `measure` is called before and after each wave and each pause; `say` gets a line for each attack. */
export async function inWaves<T>(
  attacks: readonly T[],
  attack: (each: T) => Promise<Outcome>,
  measure: () => Promise<Noticed>,
  say: (line: string) => void,
): Promise<Phase & { outcomes: Outcome[] }> {
  const outcomes: Outcome[] = []
  const phase: Phase = { during: NOTHING, between: NOTHING }
  for (let from = 0; from < attacks.length; from += WAVE) {
    const waiting = attacks.slice(from, from + WAVE)
    const work = async () => {
      for (let each = waiting.shift(); each !== undefined; each = waiting.shift()) {
        const outcome = await attack(each)
        outcomes.push(outcome)
        say(`${outcome.wrong ? 'WRONG ' : ''}${outcome.name}: ${outcome.did}${outcome.wrong ? `: ${outcome.wrong}` : ''}`)
      }
    }
    await measure()
    await Promise.all(Array.from({ length: AT_ONCE }, work))
    await sleep(SETTLE_MS)
    const during = await measure()
    await sleep(PAUSE_MS)
    const between = await measure()
    say(`wave: ${said(during)}; pause: ${said(between)}`)
    phase.during = together(phase.during, during)
    phase.between = together(phase.between, between)
  }
  return { ...phase, outcomes }
}
