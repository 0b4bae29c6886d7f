/**
 * Loaded into the service's processes before their own code: the control plane writes down how long its event loop was held, and for how
 * much of that its thread had a processor. On a busy machine it waits for one, and that is no work of its own.
 */
import { appendFileSync } from 'node:fs'
import { sep } from 'node:path'

const LOOK_MS = 5
/** Shorter turns are not written down. */
const LONG_MS = 50

/** In milliseconds: how long the loop was held, how much CPU time that took, and when it ended (Unix time). */
export type LongTurn = { heldMs: number; cpuMs: number; at: number }

const cpuMs = (): number => {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

const { LONG_TURNS_FILE } = process.env
if (LONG_TURNS_FILE && process.argv[1]?.endsWith(['services', 'control-plane', 'main.ts'].join(sep))) {
  // That it watches, where no turn is long.
  appendFileSync(LONG_TURNS_FILE, '')
  let [last, lastCpu] = [performance.now(), cpuMs()]
  setInterval(() => {
    const [now, cpu] = [performance.now(), cpuMs()]
    const turn: LongTurn = { heldMs: Math.round(now - last - LOOK_MS), cpuMs: Math.round(cpu - lastCpu), at: Date.now() }
    ;[last, lastCpu] = [now, cpu]
    if (turn.heldMs >= LONG_MS) appendFileSync(LONG_TURNS_FILE, `${JSON.stringify(turn)}\n`)
  }, LOOK_MS).unref()
}
