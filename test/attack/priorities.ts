/**
 * Who stands for machines of their own on the one that the attack runs on: their work would not take the service's cores there, and the
 * service's would not take theirs (sched(7): nice values and autogroups).
 */
import { existsSync, writeFileSync } from 'node:fs'
import { constants, setPriority } from 'node:os'

/** A machine of the attacker's. */
export function standAside(pid: number): void {
  setPriority(pid, constants.priority.PRIORITY_LOW)
  setSession(pid, constants.priority.PRIORITY_LOW)
}

/** Brokers, stores, and the second account's client. Only root may let them go first: elsewhere what they wait for counts too. */
export function goFirst(pid: number): void {
  try {
    setPriority(pid, constants.priority.PRIORITY_HIGH)
    setSession(pid, constants.priority.PRIORITY_HIGH)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && /^E(PERM|ACCES|SRCH)$/.test(String(error.code)))) throw error
  }
}

function setSession(pid: number, nice: number): void {
  const autogroup = `/proc/${pid}/autogroup`
  if (existsSync(autogroup)) writeFileSync(autogroup, String(nice))
}
