/** The service's processes as the operating system shows them: the launcher may have restarted them since the run began. */
import { readdirSync, readFileSync } from 'node:fs'
import { eventually, service } from './client.ts'

/** The pid of a process's parent: the second field after the name in parentheses, which may hold spaces (proc_pid_stat(5)). */
const parentOf = (pid: string): number => Number(readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)!.split(' ')[1])

/**
 * Pids of this run's processes of a service, by the script they run and the prefix in their environment. A child that such a process has
 * forked and that has not begun its own program yet looks the same, and is not one.
 */
function runningOf(script: string): number[] {
  const prefix = service().env.DPS_PREFIX!
  const found = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const isOne =
          readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(script) &&
          readFileSync(`/proc/${pid}/environ`, 'utf8').includes(`DPS_PREFIX=${prefix}\0`)
        return isOne ? [{ pid: Number(pid), parent: parentOf(pid) }] : []
      } catch {
        return []
      }
    })
  return found.filter(({ parent }) => !found.some(({ pid }) => pid === parent)).map(({ pid }) => pid)
}

export const runningProcessors = (): number[] => runningOf('services/processor/main.ts')
export const runningControlPlanes = (): number[] => runningOf('services/control-plane/main.ts')

/** Sends the signal to a process; it is no error if the process has already ended. */
export function killProcess(pid: number, signal: NodeJS.Signals = 'SIGKILL'): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error
  }
}

/** Kills every processor of this run, and waits until the launcher has started others in their place. */
export async function killProcessors(): Promise<void> {
  const before = runningProcessors()
  for (const pid of before) killProcess(pid)
  await eventually('new processors run', async () => {
    const now = runningProcessors()
    return now.length >= before.length && now.every((pid) => !before.includes(pid))
  })
}
