/** The service's processes as the operating system shows them: the launcher may have restarted them since the run began. */
import { readdirSync, readFileSync } from 'node:fs'
import { eventually, service } from './client.ts'

/** Pids of this run's processes of a service, by the script they run and the prefix in their environment. */
function runningOf(script: string): number[] {
  const prefix = service().env.DPS_PREFIX!
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return (
          readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(script) &&
          readFileSync(`/proc/${pid}/environ`, 'utf8').includes(`DPS_PREFIX=${prefix}\0`)
        )
      } catch {
        return false
      }
    })
    .map(Number)
}

export const runningProcessors = (): number[] => runningOf('services/processor/main.ts')
export const runningControlPlanes = (): number[] => runningOf('services/control-plane/main.ts')

/** Sends SIGKILL to a process; it is no error if the process has already ended. */
export function killProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error
  }
}

/** Kills every processor of this run, and waits until the launcher has started others in their place. */
export async function killProcessors(): Promise<void> {
  const before = runningProcessors()
  before.forEach(killProcess)
  await eventually('new processors run', async () => {
    const now = runningProcessors()
    return now.length >= before.length && now.every((pid) => !before.includes(pid))
  })
}
