/** What the attack must not touch: the service's main processes stay the same ones, answer soon, and give their memory back. */
import { readFileSync } from 'node:fs'
import type { Launched } from '../../deploy/local/launcher.ts'
import { childrenOf } from '../harness/child-processes.ts'
import { watchStalls } from './stalls.ts'

export type ServiceWatch = {
  /** Pids of the control plane and the supervisors that ended since the start. */
  restarted(): string[]
  /**
   * The longest stall of a main process's event loop since the last call, in milliseconds, without those of the machine: what a thread that
   * only wakes up was late by in the same two seconds.
   */
  worstLag(): Promise<number>
  /** Resident memory of all processes of the service, in MiB. */
  rssMib(): number
  /** The same by process. */
  rssByProcess(): Record<string, number>
  close(): Promise<unknown>
}

const LOOK_MS = 2000
const LAG_MS_SHOWN = 100
const LAG = /^nodejs_eventloop_lag_max_seconds (\S+)$/m

/** `onStall`: a main process’s event loop stood still for longer than `LAG_MS_SHOWN`, within the last two seconds. */
export function watchService(launched: Launched, onStall: (name: string, ms: number) => void): ServiceWatch {
  const services = [launched.controlPlane, ...launched.processors]
  const first = services.map((service) => service.pid())
  const restarts = new Set<string>()
  const stalls = watchStalls()
  let worst = 0
  const lookNow = async () => {
    for (const [index, service] of services.entries())
      if (service.pid() !== first[index]) restarts.add(`${service.name}: ${first[index]} → ${service.pid() ?? 'none'}`)
    const ofMachine = await stalls.longest()
    for (const [index, url] of launched.metricsUrls.entries()) {
      const page = await fetch(url, { signal: AbortSignal.timeout(LOOK_MS) }).then(
        (answer) => answer.text(),
        () => '',
      )
      const stood = page === '' ? LOOK_MS : Number(LAG.exec(page)?.[1] ?? 0) * 1000
      const lag = Math.max(0, stood - ofMachine)
      if (lag > LAG_MS_SHOWN) onStall(services[index]?.name ?? url, Math.round(lag))
      worst = Math.max(worst, lag)
    }
  }
  let looking = Promise.resolve()
  /** One after the other: what is measured begins anew with each. */
  const look = () => (looking = looking.then(lookNow))
  const pids = () =>
    services.flatMap((service) => {
      const pid = service.pid() ?? 0
      return [{ pid, name: service.name }, ...childrenOf(pid).map((child) => ({ pid: child, name: `of ${service.name}` }))]
    })
  const timer = setInterval(() => void look(), LOOK_MS)
  return {
    restarted: () => [...restarts],
    async worstLag() {
      await look()
      const found = worst
      worst = 0
      return Math.round(found)
    },
    rssMib: () => Math.round(pids().reduce((sum, { pid }) => sum + residentOf(pid), 0)),
    rssByProcess: () => Object.fromEntries(pids().map(({ pid, name }) => [`${name} ${pid}`, Math.round(residentOf(pid))])),
    close() {
      clearInterval(timer)
      return stalls.close()
    },
  }
}

function residentOf(pid: number): number {
  try {
    return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024
  } catch {
    return 0
  }
}
