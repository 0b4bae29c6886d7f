/**
 * Whether the machine is quiet: figures measured beside other work are worthless. What others took is the busy time of all cores
 * (proc(5), /proc/stat) minus that of this process and its descendants.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { TICKS_PER_SECOND } from './resources.ts'

/** The largest share of all cores that others may take. */
const OTHERS_SHARE_MAX = 0.1
const LOOK_MS = 2000

/** User, nice, system, irq, softirq and steal of all cores, in seconds. */
function busySeconds(): number {
  const [user, nice, system, , , irq, softirq, steal] = readFileSync('/proc/stat', 'utf8')
    .split('\n')[0]!
    .trim()
    .split(/\s+/)
    .slice(1)
    .map(Number)
  return (user! + nice! + system! + irq! + softirq! + (steal ?? 0)) / TICKS_PER_SECOND
}

/** CPU seconds of this process and its descendants, including those that have ended and were waited for. */
function ownSeconds(): number {
  const processes = new Map<number, { parent: number; seconds: number }>()
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8')
      const fields = stat
        .slice(stat.lastIndexOf(')') + 2)
        .split(' ')
        .map(Number)
      processes.set(Number(name), {
        parent: fields[1]!,
        seconds: (fields[11]! + fields[12]! + fields[13]! + fields[14]!) / TICKS_PER_SECOND,
      })
    } catch {
      // It has ended meanwhile.
    }
  }
  const isOwn = (pid: number): boolean => {
    for (let at: number | undefined = pid; at !== undefined && at > 1; at = processes.get(at)?.parent) if (at === process.pid) return true
    return false
  }
  return [...processes].filter(([pid]) => isOwn(pid)).reduce((sum, [, { seconds }]) => sum + seconds, 0)
}

export type MachineWatch = {
  /** Share of all cores that other processes have taken since the watch was opened; between 0 and 1. */
  othersShare(): number
  /** Throws when other processes have taken so much that the figures are worthless. */
  assertOurs(cause?: unknown): void
}

export function watchMachine(): MachineWatch {
  const startedAt = performance.now()
  const [busy, own] = [busySeconds(), ownSeconds()]
  const othersShare = () => {
    const seconds = ((performance.now() - startedAt) / 1000) * availableParallelism()
    return Math.max(0, busySeconds() - busy - (ownSeconds() - own)) / seconds
  }
  return {
    othersShare,
    assertOurs(cause) {
      const share = othersShare()
      if (share > OTHERS_SHARE_MAX)
        throw new Error(
          `other processes took ${Math.round(share * 100)} % of this machine meanwhile: nothing is reported; run this on a quiet one`,
          { cause },
        )
    },
  }
}

/** To be called before a benchmark starts. Throws when the machine is not quiet. */
export async function assertQuiet(): Promise<void> {
  const watch = watchMachine()
  await sleep(LOOK_MS)
  watch.assertOurs()
}
