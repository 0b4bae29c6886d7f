/**
 * Who stands for machines of their own on the one that the attack runs on: their work would not take the service's cores there, and the
 * service's would not take theirs (sched(7): nice values and autogroups).
 */
import { existsSync, writeFileSync } from 'node:fs'
import { constants, setPriority } from 'node:os'
import { errorOf } from '../../shared/errors/reason-of.ts'

/** A machine of the attacker's. */
export function standAside(pid: number): void {
  setPriority(pid, constants.priority.PRIORITY_LOW)
  setSession(pid, constants.priority.PRIORITY_LOW)
}

/**
 * Brokers, stores, and the second account's client: by their sessions, of which Postgres makes one for each connection, and by their main
 * threads. Only root may let them go first; elsewhere what they wait for counts too.
 */
export function goFirst(pid: number): void {
  try {
    setPriority(pid, constants.priority.PRIORITY_HIGH)
    setSession(pid, constants.priority.PRIORITY_HIGH)
  } catch (error) {
    // Node's own errors have the system's code inside (`os.setPriority`).
    const { code, info } = errorOf(error) as NodeJS.ErrnoException & { info?: { code?: string } }
    if (!/^E(PERM|ACCES|SRCH)$/.test(info?.code ?? code ?? '')) throw error
  }
}

function setSession(pid: number, nice: number): void {
  const autogroup = `/proc/${pid}/autogroup`
  if (existsSync(autogroup)) writeFileSync(autogroup, String(nice))
}
