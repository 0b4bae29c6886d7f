/**
 * Counts how often a SmartModule version cost a chain an instance or a lane. At the limit it is quarantined for that chain: one bad deploy
 * must not keep the runner busy replacing lanes. Another chain with this version has its own count, and so has this one once its pipeline
 * is started again. An error that a module reports for a record does not count.
 */
import { Interrupted } from '../interruption.ts'
import type { LaneChain } from './messages.ts'

export type Quarantine = {
  /** Losses left before the version is quarantined. */
  left(sha256: string): number
  /** Adds losses; true when the version is now quarantined. */
  add(sha256: string, losses: number): boolean
}

/** A module that traps now and then is kept; one that does so every few seconds is not. */
const QUARANTINE_LOSSES = 20
const QUARANTINE_WINDOW_MS = 60_000

/** `now`: in milliseconds, by a clock that only goes forward. */
export function createQuarantine(now = () => performance.now()): Quarantine {
  const losses = new Map<string, number[]>()
  const recent = (sha256: string): number[] => (losses.get(sha256) ?? []).filter((at) => now() - at < QUARANTINE_WINDOW_MS)
  return {
    left: (sha256) => Math.max(0, QUARANTINE_LOSSES - recent(sha256).length),
    add(sha256, count) {
      const kept = [...recent(sha256), ...Array.from({ length: Math.min(count, QUARANTINE_LOSSES) }, now)]
      losses.set(sha256, kept)
      return kept.length >= QUARANTINE_LOSSES
    },
  }
}

/** The failure of a chain whose step is quarantined. */
export function quarantinedBy({ steps }: LaneChain, step: number, last: string, isCanarys = false): Interrupted {
  const { name, canary } = steps[step]!
  const { version, sha256 } = (isCanarys && canary) || steps[step]!
  return new Interrupted(
    { kind: 'failed', quarantined: sha256 },
    `step ${step + 1}: ${name} ${version} is quarantined: ${QUARANTINE_LOSSES} traps or missed deadlines within ${QUARANTINE_WINDOW_MS / 1000} s (the last: ${last})`,
  )
}
