/** CPU seconds (all threads, user and system) and resident memory of a process and its children, from /proc. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { childrenOf } from '../harness/child-processes.ts'

export const TICKS_PER_SECOND = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }))

export function resources(pid: number): { cpuSeconds: number; rssMib: number } {
  const all = [pid, ...childrenOf(pid)].map(ownResources)
  return {
    cpuSeconds: all.reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0),
    rssMib: all.reduce((sum, { rssMib }) => sum + rssMib, 0),
  }
}

function ownResources(pid: number): { cpuSeconds: number; rssMib: number } {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  // The name in parentheses may hold spaces: count fields after it (proc(5): utime is the 14th, stime the 15th).
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return {
    cpuSeconds: (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND,
    rssMib: Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024),
  }
}
