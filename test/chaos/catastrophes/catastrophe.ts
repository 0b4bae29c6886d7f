/**
 * What is done to the arena from outside; what breaks inside of a process is in `faults/`. Each has its own file, and each leaves the arena
 * able to go on.
 */
import { limitMs } from '../../harness/machine-speed.ts'
import { servingRunners } from '../../harness/serving-runners.ts'
import { sleep, type Arena } from '../arena.ts'
import type { Proxy } from '../proxy.ts'
import type { Random } from '../random.ts'

export type Catastrophe = {
  name: string
  /** Longest duration in milliseconds on a quick machine: after its first time it is not started if it could outlast the load. */
  takesMs: number
  /** Says what has happened; throws where nothing has. */
  run(arena: Arena, random: Random): Promise<string>
}

/** One of these; throws when none is there. */
export function pickAlive<T>(random: Random, alive: readonly T[]): T {
  if (alive.length === 0) throw new Error('none is alive')
  return random.pick(alive)
}

const METRICS_MS_MAX = 2000

/** A runner that serves a group: the end of a spare one changes nothing. */
export async function pickRunner({ launched }: Arena, random: Random): Promise<{ pid: number; group: string }> {
  return pickAlive(random, await servingRunners(launched.metricsUrls, METRICS_MS_MAX))
}

/** How long it is waited for the first EndTxn where no transaction ends just now, as after a kill. */
const FIRST_MS_MAX = 6000

/** Has the proxies disturb EndTxn requests for `ms`, or longer until there was one; returns how many were disturbed. */
export async function disturbEndTxn({ proxies }: Arena, ms: number, turn: (proxy: Proxy, isOn: boolean) => void): Promise<number> {
  const count = () => proxies.reduce((sum, proxy) => sum + proxy.disturbed(), 0)
  const before = count()
  for (const proxy of proxies) turn(proxy, true)
  await sleep(ms)
  for (const deadline = Date.now() + limitMs(FIRST_MS_MAX); count() === before && Date.now() < deadline;) await sleep(50)
  for (const proxy of proxies) turn(proxy, false)
  if (count() === before) throw new Error('no transaction has ended meanwhile')
  return count() - before
}

/** Stops processes (SIGSTOP) for `ms`; then they go on, unaware that time has passed, unless they were killed meanwhile. */
export async function freeze(pids: readonly number[], ms: number): Promise<void> {
  const stopped = pids.filter((pid) => signal(pid, 'SIGSTOP'))
  if (stopped.length === 0) throw new Error('none is alive')
  await sleep(ms)
  for (const pid of stopped) signal(pid, 'SIGCONT')
}

/** False where the process was killed meanwhile. */
function signal(pid: number, what: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, what)
  } catch {
    return false
  }
}
