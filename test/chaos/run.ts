/**
 * `make chaos MINUTES=20 SEED=7`: prints its seed, runs the load for MINUTES (longer only until each catastrophe has come once), writes
 * latest.json, and ends within MINUTES + 5 minutes where the machine keeps up with RATE. Any fault makes it red.
 */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openArena } from './arena.ts'
import { runChaos } from './chaos.ts'
import { MUTATIONS, type Mutation } from './faults/mutations.ts'
import { runMutations } from './mutation-runs.ts'

const minutes = Number(process.env.MINUTES || 5)
const seed = Number(process.env.SEED || Math.floor(Math.random() * 2 ** 31))
const recordsPerSecond = Number(process.env.RATE || 11_000)
if (!(minutes > 0) || !Number.isInteger(seed)) throw new Error('MINUTES must be a number above 0, SEED an integer')

/** The whole command ends within MINUTES + 5 minutes, so a long load gives up part of its time for reading back. */
const loadSecondsOf = (asked: number): number => (asked >= 10 ? asked * 60 - 90 : asked * 60)

const startedAt = Date.now()
const say = (line: string) => process.stdout.write(`${((Date.now() - startedAt) / 1000).toFixed(0).padStart(5)} s  ${line}\n`)
say(`chaos for ${minutes} minutes, SEED=${seed}`)
const arena = await openArena(`chaos${process.pid}`, say)
let isGreen = false
try {
  const result = await runChaos(arena, { seed, loadSeconds: loadSecondsOf(minutes), recordsPerSecond, say })
  say('testing the harness: one broken rule per run, and a control without any')
  const runs = await runMutations(arena, ['none', ...(Object.keys(MUTATIONS) as Mutation[])], say)
  const control = runs.find(({ mutation }) => mutation === 'none')!
  const mutated = runs.filter(({ mutation }) => mutation !== 'none')
  const { verdict } = result
  const outcome = {
    seed,
    minutes,
    records: verdict.records,
    lost: verdict.lost,
    duplicated: verdict.duplicated,
    out_of_order: verdict.out_of_order,
    ghosts: verdict.ghosts,
    misplaced: verdict.misplaced,
    dead_letters: verdict.dead_letters,
    revisions: result.revisions,
    revisions_out_of_order: verdict.revisions_out_of_order,
    wrong_borders: result.wrongBorders,
    kills: result.kills,
    tried: result.tried,
    happened: result.happened,
    never_happened: result.neverHappened,
    outside: result.outside,
    accounting_balanced: result.accountingBalanced,
    accounting: result.accounting,
    control_is_green: !control.isCaught,
    mutations_caught: mutated.filter(({ isCaught }) => isCaught).length,
    mutations_total: mutated.length,
    mutations: Object.fromEntries(mutated.map(({ mutation, isCaught, why }) => [mutation, { caught: isCaught, why }])),
    seconds: Math.round((Date.now() - startedAt) / 1000),
  }
  await writeFile(join(import.meta.dirname, 'latest.json'), `${JSON.stringify(outcome, null, 2)}\n`)
  say(JSON.stringify(outcome, null, 2))
  isGreen =
    result.isExact &&
    result.accountingBalanced &&
    result.wrongBorders.length === 0 &&
    result.neverHappened.length === 0 &&
    outcome.control_is_green &&
    outcome.mutations_caught === outcome.mutations_total
  say(
    isGreen ? 'green: nothing lost, nothing duplicated, order kept, every broken rule noticed' : `RED; reproduce the run with SEED=${seed}`,
  )
} finally {
  await arena.close()
}
process.exit(isGreen ? 0 : 1)
