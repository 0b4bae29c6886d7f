/** Counts the CPU seconds of each account's runners by clock hour, from what the kernel says of their processes. */
import { hourOf } from '../../../shared/model/times.ts'
import type { CpuUse } from '../../../shared/model/observed.ts'

/** One runner: undefined `account` where several accounts share it, whose time can't be told apart. */
export type RunnerUse = { pid: number; account: string | undefined; cpuSeconds: number }

/** Takes a look at the runners now and then; the last moments of one that has ended are lost. */
export function createCpuMeter(processorId: string, now: () => number) {
  /** CPU seconds at the last look, by pid. */
  const seen = new Map<number, number>()
  let counts = new Map<string, number>()
  let hour = ''

  return {
    /** Adds what was used since the last look. */
    look(runners: readonly RunnerUse[]): void {
      const current = hourOf(now())
      if (current !== hour) {
        hour = current
        counts = new Map()
      }
      for (const pid of seen.keys()) if (!runners.some((each) => each.pid === pid)) seen.delete(pid)
      for (const { pid, account, cpuSeconds } of runners) {
        const more = cpuSeconds - (seen.get(pid) ?? 0)
        seen.set(pid, cpuSeconds)
        if (account !== undefined && more > 0) counts.set(account, (counts.get(account) ?? 0) + more)
      }
    },
    /** What was counted in this hour. */
    counts: (): CpuUse[] =>
      [...counts].map(([account_id, seconds]) => ({
        account_id,
        processor_id: processorId,
        hour,
        cpu_seconds: Math.round(seconds * 10) / 10,
      })),
  }
}
