/** The children of a process as the kernel shows them: a processor's runners. */
import { readdirSync, readFileSync } from 'node:fs'

/** Pids of the processes that a process has started (proc(5): the fourth field of `stat`). */
export function childrenOf(pid: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((each) => {
      try {
        const stat = readFileSync(`/proc/${each}/stat`, 'utf8')
        return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]) === pid
      } catch {
        return false
      }
    })
}
