/**
 * `make attack`: an account with hundreds of hostile modules and lying servers against a service with a second account under 500 records a
 * second. MODULES and SERVERS take so many of each, SEED says which. Writes latest.json; red when the second account notices.
 */
import { spawn } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { launch } from '../../deploy/local/launcher.ts'
import { createRandom } from '../chaos/random.ts'
import { childrenOf } from '../harness/child-processes.ts'
import { openAccount } from './account.ts'
import { startAttacker } from './attacker.ts'
import { HOSTILE } from './modules/hostile-modules.ts'
import { goFirst, standAside } from './priorities.ts'
import { LIES } from './servers/index.ts'
import { startVictim } from './victim.ts'
import { watchService } from './watch.ts'
import { inWaves, p99, said, type Phase } from './waves.ts'

const QUIET_MS = 30_000
const HOLD_MS = Number(process.env.HOLD_MS || 8000)
const AFTER_MS = 100_000
const P99_RATIO_MAX = 2
const LAG_MS_MAX = 200
const GAP_MS_MAX = 1000
/** Memory that may stay behind: caches of compiled code, and what V8 has not collected yet. */
const RSS_RATIO_MAX = 1.4

const seed = Number(process.env.SEED || 7)
const random = createRandom(seed)
const some = <T>(all: readonly T[], count: string | undefined): T[] => random.shuffle(all).slice(0, Number(count || all.length))
const startedAt = Date.now()
const say = (line: string) => process.stdout.write(`${((Date.now() - startedAt) / 1000).toFixed(0).padStart(5)} s  ${line}\n`)
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

const modules = some([...HOSTILE.keys()], process.env.MODULES)
const lies = some([...LIES.keys()], process.env.SERVERS)
say(`attack by ${modules.length} modules and ${lies.length} servers, SEED=${seed}`)
const launched = await launch({ processors: 2, way: 'processes', prefix: `attack${process.pid}`, env: { LOG_LEVEL: 'info' }, say })
const liars = spawn(process.execPath, ['--no-warnings', join(import.meta.dirname, 'servers', 'main.ts'), ...lies.map(String)], {
  stdio: ['pipe', 'pipe', 'inherit'],
  detached: true,
})
const fromLiars = createInterface(liars.stdout)[Symbol.asyncIterator]()
standAside(liars.pid!)
const close = async () => {
  liars.kill('SIGKILL')
  await launched.close()
}
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void close().then(() => process.exit(1)))

/** A number for each lying server; none once their process has ended. */
async function byLie(): Promise<Map<number, number>> {
  const line = await fromLiars.next()
  return new Map(line.done ? [] : (JSON.parse(line.value) as [number, number][]))
}

let isGreen = false
try {
  const own = [launched.controlPlane, ...launched.processors].map((service) => service.pid())
  for (const pid of childrenOf(process.pid)) if (!own.includes(pid) && pid !== liars.pid) goFirst(pid)
  const ports = await byLie()
  const { apiUrl, stack } = launched
  const account = await launched.createAccount('Attacker', 'enterprise')
  const attacker = await startAttacker({ apiUrl, brokers: stack.kafkaBrokers, account, holdMs: HOLD_MS })
  standAside(attacker.pid)
  const other = await openAccount(apiUrl, await launched.createAccount('Victim', 'enterprise'))
  const victim = await startVictim(other, stack.kafkaBrokers)
  await sleep(10_000)
  const watch = watchService(launched, (name, ms) => say(`the event loop of ${name} stood still for ${ms} ms`))
  const measure = async () => ({
    times: await victim.latencies(),
    gap: Math.round(await victim.longestGap()),
    lag: await watch.worstLag(),
  })
  await measure()
  await sleep(QUIET_MS)
  const quiet = await measure()
  const [rss, rssByProcess] = [watch.rssMib(), watch.rssByProcess()]
  say(`quiet: ${said(quiet)}, ${rss} MiB`)

  const byModules = await inWaves(modules, (index) => attacker.attack({ kind: 'module', index }), measure, say)
  say(`modules: ${said(byModules.during)}; pauses: ${said(byModules.between)}`)
  const byServers = await inWaves(lies, (index) => attacker.attack({ kind: 'lie', index, port: ports.get(index)! }), measure, say)
  say(`servers: ${said(byServers.during)}; pauses: ${said(byServers.between)}`)
  liars.stdin.end()
  const connections = await byLie()
  const untold = lies.filter((number) => !connections.get(number)).map((number) => `${LIES[number]!.protocol}/${LIES[number]!.name}`)

  attacker.close()
  await sleep(AFTER_MS)
  const rssAfter = watch.rssMib()
  const delivered = await victim.finish()
  await watch.close()
  const figures = ({ during, between }: Phase) => ({
    p99_ms: p99(during),
    p99_pauses_ms: p99(between),
    longest_gap_ms: during.gap,
    event_loop_lag_ms: during.lag,
  })
  const wrong = [...byModules.outcomes, ...byServers.outcomes].filter((each) => each.wrong !== undefined)
  const outcome = {
    seed,
    modules: modules.length,
    servers: lies.length,
    victim: { ...delivered, p99_quiet_ms: p99(quiet) },
    under_modules: figures(byModules),
    under_servers: figures(byServers),
    rss_mib: { before: rss, after: rssAfter, before_by_process: rssByProcess, after_by_process: watch.rssByProcess() },
    restarted: watch.restarted(),
    wrong,
    untold,
    seconds: Math.round((Date.now() - startedAt) / 1000),
  }
  await writeFile(join(import.meta.dirname, 'latest.json'), `${JSON.stringify(outcome, null, 2)}\n`)
  say(JSON.stringify(outcome, null, 2))
  const phases = [byModules, byServers]
  const faults = [
    ...(delivered.lost > 0 || delivered.duplicated > 0 ? ['records of the second account were lost or doubled'] : []),
    ...(watch.restarted().length > 0 ? ['a main process ended'] : []),
    ...(wrong.length > 0 ? ['some attacks had another answer than they should'] : []),
    ...(untold.length > 0 ? ['nothing connected to some lying servers'] : []),
    ...(phases.some(({ during, between }) => p99(during) > P99_RATIO_MAX * p99(between))
      ? ['the second account was slower than allowed']
      : []),
    ...(phases.some(({ during }) => during.gap > GAP_MS_MAX) ? ['the second account stood still'] : []),
    ...(phases.some(({ during }) => during.lag > LAG_MS_MAX) ? ['an event loop stood still for too long'] : []),
    ...(rssAfter > rss * RSS_RATIO_MAX ? ['memory has not come back'] : []),
  ]
  isGreen = faults.length === 0
  say(isGreen ? 'green' : `RED: ${faults.join('; ')}`)
} finally {
  await close()
}
process.exit(isGreen ? 0 : 1)
