/**
 * One chaos run: load, catastrophes in the order that the seed gives, time to recover, then the oracle. A processor is killed every 16 s
 * whatever else happens; the other catastrophes follow one another alongside.
 */
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PARTITIONS, sleep, type Arena } from './arena.ts'
import type { Catastrophe } from './catastrophes/catastrophe.ts'
import { cutEndTxn } from './catastrophes/cut-end-txn.ts'
import { delayEndTxn } from './catastrophes/delay-end-txn.ts'
import { exhaustRunner } from './catastrophes/exhaust-runner.ts'
import { freezeControlPlane } from './catastrophes/freeze-control-plane.ts'
import { freezeConnections } from './catastrophes/freeze-connections.ts'
import { killBroker } from './catastrophes/kill-broker.ts'
import { killRunner } from './catastrophes/kill-runner.ts'
import { killProcessor } from './catastrophes/kill-processor.ts'
import { moveCoordinator } from './catastrophes/move-coordinator.ts'
import { freezeProcessor } from './catastrophes/freeze-processor.ts'
import { rebalanceStorm } from './catastrophes/rebalance-storm.ts'
import { restartStores } from './catastrophes/restart-stores.ts'
import { swapRevision } from './catastrophes/swap-revision.ts'
import { until } from './client.ts'
import { reasonOf } from '../../shared/errors/reason-of.ts'
import { wrongBorders } from './ledger-check.ts'
import { isExactOutside, judgeExternals, startExternalLoad, type ExternalVerdict } from './externals.ts'
import { startLoad } from './load.ts'
import { isExact, judge, type Verdict } from './oracle.ts'
import { createRandom, type Random } from './random.ts'
import { limitMs } from '../harness/machine-speed.ts'

const CATASTROPHES: readonly Catastrophe[] = [
  freezeProcessor,
  killRunner,
  exhaustRunner,
  rebalanceStorm,
  killBroker,
  moveCoordinator,
  freezeConnections,
  delayEndTxn,
  cutEndTxn,
  restartStores,
  swapRevision,
]

export type ChaosOptions = {
  seed: number
  /** At least; the load goes on until each kind has come once. */
  loadSeconds: number
  recordsPerSecond: number
  catastrophes?: readonly Catastrophe[]
  say: (line: string) => void
}
export type ChaosResult = {
  verdict: Verdict
  isExact: boolean
  kills: number
  accountingBalanced: boolean
  accounting: Record<string, number>
  /** Ledger entries that differ from where a revision starts in the data, and revisions that the ledger lacks. */
  wrongBorders: string[]
  revisions: number
  /** Of each kind that the schedule drew, how often it was tried, and how often it has happened. */
  tried: Record<string, number>
  happened: Record<string, number>
  /** Kinds that ought to have happened in such a run, and never did. */
  neverHappened: string[]
  /** The verdicts on the table and the bucket. */
  outside: Record<string, ExternalVerdict>
}

/** The table and the bucket get a smaller load, because the oracle reads them back with SQL and S3 requests. */
const OUTSIDE_SHARE = 0.05
const OUTSIDE_MAX = 1000

const KILL_EVERY_MS = 16_000
const FREEZE_AFTER_MS = 6000

const STILL_MS = 90_000

/** One that found no process alive once or twice was unlucky; one that never succeeded in more tries is broken. */
const TRIES_ENOUGH = 3
/** So much time has every kind several times over. */
const LONG_SECONDS = 900

type Tally = Pick<ChaosResult, 'tried' | 'happened'>

/** Tries it once: it counts as happened only where it says what it did. */
async function strike(arena: Arena, random: Random, { name, run }: Catastrophe, { tried, happened }: Tally): Promise<void> {
  tried[name] = (tried[name] ?? 0) + 1
  try {
    const told = await run(arena, random)
    happened[name] = (happened[name] ?? 0) + 1
    arena.say(`  ${name}: ${told}`)
  } catch (error) {
    arena.say(`  ${name} did not happen: ${reasonOf(error)}`)
  }
}

/** Waits until every record is processed; gives up once the lag has not become smaller for a while. */
async function untilCaughtUp(lagNow: () => Promise<number>, say: (line: string) => void): Promise<void> {
  let least = Infinity
  const stillMs = limitMs(STILL_MS)
  for (let since = Date.now(); Date.now() - since < stillMs; await sleep(250)) {
    const lag = await lagNow().catch(() => least)
    if (lag <= PARTITIONS) return
    if (lag < least) since = Date.now()
    least = Math.min(least, lag)
  }
  say(`the lag stays at ${least} records: missing records count as lost`)
}

/** Runs catastrophes one after another: each kind once, however long a slow machine takes for it, and then again until the time is over. */
async function unleash(arena: Arena, random: Random, catastrophes: readonly Catastrophe[], endAt: number, tally: Tally): Promise<void> {
  for (let isFirst = true; isFirst || Date.now() < endAt; isFirst = false) {
    for (const catastrophe of random.shuffle(catastrophes)) {
      const pauseMs = random.between(500, 3000)
      const own = random.fork()
      await sleep(pauseMs)
      if (!isFirst && Date.now() + catastrophe.takesMs > endAt) continue
      await strike(arena, own, catastrophe, tally)
    }
    await sleep(200)
  }
}

async function kill(arena: Arena, random: Random, endAt: number, tally: Tally): Promise<void> {
  for (let next = Date.now() + 4000; next < endAt; next += KILL_EVERY_MS) {
    await sleep(Math.max(0, next - Date.now()))
    await strike(arena, random, killProcessor, tally)
  }
}

/** Freezes a control plane now and then, alongside everything else, so that the other one has revisions to write meanwhile. */
async function freeze(arena: Arena, random: Random, endAt: number, tally: Tally): Promise<void> {
  for (await sleep(FREEZE_AFTER_MS); Date.now() + freezeControlPlane.takesMs / 2 < endAt; await sleep(random.between(3000, 10_000)))
    await strike(arena, random, freezeControlPlane, tally)
}

type Accounting = { balanced: boolean; totals: Record<string, number> }

export async function runChaos(arena: Arena, options: ChaosOptions): Promise<ChaosResult> {
  const { say } = options
  const random = createRandom(options.seed)
  const { pipeline, cluster, kafka, api } = arena
  const catastrophes = options.catastrophes ?? CATASTROPHES
  const tally: Tally = { tried: {}, happened: {} }
  const load = await startLoad({
    cluster,
    kafka,
    topic: pipeline.sourceTopic,
    partitions: PARTITIONS,
    schemaId: pipeline.schemaId,
    recordsPerSecond: options.recordsPerSecond,
    historyFile: join(tmpdir(), `dps-chaos-history-${process.pid}.ndjson`),
    abortedEveryMs: 7000,
  })
  const outsideLoad = await startExternalLoad(
    cluster,
    kafka,
    arena.externals,
    Math.min(OUTSIDE_MAX, options.recordsPerSecond * OUTSIDE_SHARE),
  )
  const endAt = Date.now() + options.loadSeconds * 1000
  const progress = setInterval(
    () =>
      say(
        `  ${load
          .acknowledged()
          .reduce((sum, count) => sum + count, 0)
          .toLocaleString('en')} records acknowledged`,
      ),
    30_000,
  )
  try {
    await Promise.all([
      unleash(arena, random.fork(), catastrophes, endAt, tally),
      kill(arena, random.fork(), endAt, tally),
      freeze(arena, random.fork(), endAt, tally),
      sleep(options.loadSeconds * 1000),
    ])
  } finally {
    clearInterval(progress)
  }
  say('the load has ended; waiting until every record is processed')
  await load.stop()
  await outsideLoad.stop()
  const acknowledged = load.acknowledged()
  const written = acknowledged.reduce((sum, count) => sum + count, 0)
  await untilCaughtUp(async () => (await api<{ lag: number }>('GET', `/pipelines/${pipeline.id}/offsets`)).lag, say)
  const accounting = await until('the accounting is complete', 30_000, async () => {
    const found = await api<Accounting>('GET', `/pipelines/${pipeline.id}/accounting`)
    return found.totals.in === written && found.totals.in_flight === 0 && found
  }).catch(() => api<Accounting>('GET', `/pipelines/${pipeline.id}/accounting`))
  say(`reading back ${written.toLocaleString('en')} records`)
  const verdict = await judge(cluster, pipeline.sinkTopic, pipeline.deadLetterTopic, acknowledged)
  const outside = await judgeExternals(api, cluster, arena.launched, arena.externals, outsideLoad, say)
  for (const [sink, found] of Object.entries(outside)) say(`${sink}: ${JSON.stringify(found)}`)
  const { totals } = accounting
  const kinds = [...catastrophes, killProcessor, freezeControlPlane].map(({ name }) => name)
  const isLong = options.loadSeconds >= LONG_SECONDS
  return {
    verdict,
    outside,
    isExact: isExact(verdict) && Object.values(outside).every(isExactOutside),
    kills: arena.kills,
    accounting: totals,
    accountingBalanced:
      accounting.balanced &&
      totals.in === written &&
      totals.dead_lettered === verdict.dead_letters &&
      totals.out === written - verdict.dead_letters,
    wrongBorders: await wrongBorders(arena, verdict),
    revisions: arena.revision,
    ...tally,
    neverHappened: kinds.filter((name) => !tally.happened[name] && (isLong || (tally.tried[name] ?? 0) >= TRIES_ENOUGH)),
  }
}
