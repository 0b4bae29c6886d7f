/**
 * `make attack`: an account with 488 hostile modules and 202 lying servers against a service with a second account under 500 records a
 * second. MODULES and SERVERS take so many of each, SEED says which. Writes latest.json; red when the second account notices.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, writeFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { constants, setPriority } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { launch } from '../../deploy/local/launcher.ts'
import { createKafka } from '../../shared/kafka/admin/admin.ts'
import { createRandom } from '../chaos/random.ts'
import { openAccount } from './account.ts'
import { deploy, prepareGround, tellLie, type Outcome } from './assaults.ts'
import { HOSTILE } from './modules/hostile-modules.ts'
import { LIES } from './servers/index.ts'
import { quantile, startVictim } from './victim.ts'
import { watchService } from './watch.ts'

const QUIET_MS = 30_000
const AT_ONCE = 3
const HOLD_MS = Number(process.env.HOLD_MS || 8000)
const AFTER_MS = 100_000
const P99_RATIO_MAX = 2
const LAG_MS_MAX = 200
/** Memory that may stay behind: caches of compiled code, and what V8 has not collected yet. */
const RSS_RATIO_MAX = 1.4

const seed = Number(process.env.SEED || 7)
const random = createRandom(seed)
const some = <T>(all: readonly T[], count: string | undefined): T[] => random.shuffle(all).slice(0, Number(count || all.length))
const startedAt = Date.now()
const say = (line: string) => process.stdout.write(`${((Date.now() - startedAt) / 1000).toFixed(0).padStart(5)} s  ${line}\n`)
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

const modules = some(HOSTILE, process.env.MODULES)
const lies = some([...LIES.keys()], process.env.SERVERS)
say(`attack by ${modules.length} modules and ${lies.length} servers, SEED=${seed}`)
const launched = await launch({ processors: 2, way: 'processes', prefix: `attack${process.pid}`, env: { LOG_LEVEL: 'info' }, say })
const liars = spawn(process.execPath, ['--no-warnings', join(import.meta.dirname, 'servers', 'main.ts'), ...lies.map(String)], {
  stdio: ['pipe', 'pipe', 'ignore'],
  detached: true,
})
standAside(liars.pid!)
const close = async () => {
  liars.kill('SIGKILL')
  await launched.close()
}
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void close().then(() => process.exit(1)))

/** The lying servers stand for machines of their own, whose work would not take the service's cores (sched(7): nice values, autogroups). */
function standAside(pid: number): void {
  setPriority(pid, constants.priority.PRIORITY_LOW)
  const autogroup = `/proc/${pid}/autogroup`
  if (existsSync(autogroup)) writeFileSync(autogroup, String(constants.priority.PRIORITY_LOW))
}

/** Works through the attacks, some at once. */
async function all<T>(attacks: readonly T[], attack: (each: T) => Promise<Outcome>): Promise<Outcome[]> {
  const outcomes: Outcome[] = []
  const waiting = [...attacks]
  const work = async () => {
    for (let each = waiting.shift(); each !== undefined; each = waiting.shift()) {
      const outcome = await attack(each)
      outcomes.push(outcome)
      say(`${outcome.wrong ? 'WRONG ' : ''}${outcome.name}: ${outcome.did}${outcome.wrong ? `: ${outcome.wrong}` : ''}`)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  return outcomes
}

let isGreen = false
try {
  const [line] = (await once(createInterface(liars.stdout), 'line')) as [string]
  const ports = new Map(JSON.parse(line) as [number, number][])
  const kafka = createKafka(launched.stack.kafkaBrokers, 'attack')
  const [attacker, other] = [await openAccount(launched, 'Attacker', 'enterprise'), await openAccount(launched, 'Victim', 'enterprise')]
  const ground = await prepareGround(attacker, kafka)
  const victim = await startVictim(other, launched.stack.kafkaBrokers)
  await sleep(10_000)
  const watch = watchService(launched, (name, ms) => say(`the event loop of ${name} stood still for ${ms} ms`))
  await victim.latencies()
  await victim.longestGap()
  await watch.worstLag()
  await sleep(QUIET_MS)
  /** Since the last call. */
  const measured = async () => ({
    p99: quantile(await victim.latencies(), 0.99),
    gap: Math.round(await victim.longestGap()),
    lag: await watch.worstLag(),
  })
  const quiet = { ...(await measured()), rss: watch.rssMib(), rssByProcess: watch.rssByProcess() }
  say(`quiet: p99 ${quiet.p99} ms, longest gap ${quiet.gap} ms, lag ${quiet.lag} ms, ${quiet.rss} MiB`)

  const outcomes = await all(modules, (each) => deploy(attacker, ground, each, HOLD_MS))
  const byModules = await measured()
  say(`under modules: p99 ${byModules.p99} ms, longest gap ${byModules.gap} ms, lag ${byModules.lag} ms`)
  outcomes.push(...(await all(lies, (number) => tellLie(attacker, ground, LIES[number]!, ports.get(number)!, number, HOLD_MS))))
  const byServers = await measured()
  say(`under servers: p99 ${byServers.p99} ms, longest gap ${byServers.gap} ms, lag ${byServers.lag} ms`)

  await ground.close()
  await sleep(AFTER_MS)
  const rssAfter = watch.rssMib()
  const byProcess = { before_by_process: quiet.rssByProcess, after_by_process: watch.rssByProcess() }
  const delivered = await victim.finish()
  watch.close()
  const outcome = {
    seed,
    modules: modules.length,
    servers: lies.length,
    victim: { ...delivered, p99_quiet_ms: quiet.p99, p99_modules_ms: byModules.p99, p99_servers_ms: byServers.p99 },
    longest_gap_ms: { quiet: quiet.gap, modules: byModules.gap, servers: byServers.gap },
    event_loop_lag_ms: { quiet: quiet.lag, modules: byModules.lag, servers: byServers.lag },
    rss_mib: { before: quiet.rss, after: rssAfter, ...byProcess },
    restarted: watch.restarted(),
    wrong: outcomes.filter(({ wrong }) => wrong !== undefined),
    seconds: Math.round((Date.now() - startedAt) / 1000),
  }
  await writeFile(join(import.meta.dirname, 'latest.json'), `${JSON.stringify(outcome, null, 2)}\n`)
  say(JSON.stringify(outcome, null, 2))
  const faults = [
    ...(delivered.lost > 0 || delivered.duplicated > 0 ? ['records of the second account were lost or doubled'] : []),
    ...(watch.restarted().length > 0 ? ['a main process ended'] : []),
    ...(outcome.wrong.length > 0 ? ['some attacks had another answer than they should'] : []),
    ...(Math.max(byModules.p99, byServers.p99) > P99_RATIO_MAX * quiet.p99 ? ['the second account was slower than allowed'] : []),
    ...(Math.max(byModules.lag, byServers.lag) > LAG_MS_MAX ? ['an event loop stood still for too long'] : []),
    ...(rssAfter > quiet.rss * RSS_RATIO_MAX ? ['memory has not come back'] : []),
  ]
  isGreen = faults.length === 0
  say(isGreen ? 'green' : `RED: ${faults.join('; ')}`)
} finally {
  await close()
}
process.exit(isGreen ? 0 : 1)
