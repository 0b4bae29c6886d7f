/** A workshop's job that takes much CPU time gives way to everything else on the machine. */
import { getPriority } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, expect, it } from 'vitest'
import { openWorkshop } from '../../services/control-plane/workshop/workshop.ts'
import { childrenOf } from '../harness/child-processes.ts'
import { limitMs } from '../harness/machine-speed.ts'

const workshop = openWorkshop({ count: 1, env: { NODE_NO_WARNINGS: '1' } })
afterAll(() => workshop.close())

const LAST = 19
const WALL_MS = limitMs(60_000)
const SOURCE = `import { Record } from 'dps'
export function filter(record: Record): bool { return true }`

/** Workshops that came last. */
const last = new Set<number>()

/** Compiles with so much CPU time; returns whether another workshop came last meanwhile. With `lastFromMs` it ends as soon as one does. */
async function comesLast(cpuMs: number, more: { lastFromMs?: number } = {}): Promise<boolean> {
  const before = last.size
  let isOver = false
  const stop = new AbortController()
  const compiling = workshop
    .until(stop.signal)
    .run('acc_1', { kind: 'compile', code: SOURCE }, { cpuMs, wallMs: WALL_MS, ...more })
    .catch((error: unknown) => stop.signal.aborted || Promise.reject(error))
    .finally(() => (isOver = true))
  while (!isOver) {
    for (const pid of childrenOf(process.pid)) {
      try {
        if (getPriority(pid) === LAST) last.add(pid)
      } catch {
        // It has ended.
      }
    }
    if (more.lastFromMs !== undefined && last.size > before) stop.abort()
    await sleep(20)
  }
  await compiling
  return last.size > before
}

it(
  'comes last once it has used a quarter of its CPU time, or what is named, in a process that gets no other job',
  { timeout: 2 * WALL_MS },
  async () => {
    // The compiler takes longer than that on any machine, and far less than what the second one may.
    expect(await comesLast(1000)).toBe(true)
    expect(await comesLast(600_000)).toBe(false)
    expect(await comesLast(600_000, { lastFromMs: 200 })).toBe(true)
  },
)
