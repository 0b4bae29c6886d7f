/**
 * Loaded into the service's processes before their own code: the control plane writes down which turns of its event loop took much CPU
 * time. A loop that was blocked for longer than that waited for a processor, or for a call that blocks.
 */
import { appendFileSync } from 'node:fs'
import { sep } from 'node:path'

const LOOK_MS = 5
/** Shorter turns are not written down. */
const LONG_MS = 50

/** In milliseconds: its CPU time, and when it ended (Unix time). */
export type LongTurn = { cpuMs: number; at: number }

const cpuMs = (): number => {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

const { LONG_TURNS_FILE } = process.env
if (LONG_TURNS_FILE && process.argv[1]?.endsWith(['services', 'control-plane', 'main.ts'].join(sep))) {
  // That it watches, where no turn is long.
  appendFileSync(LONG_TURNS_FILE, '')
  let last = cpuMs()
  setInterval(() => {
    const now = cpuMs()
    const turn: LongTurn = { cpuMs: Math.round(now - last), at: Date.now() }
    last = now
    if (turn.cpuMs >= LONG_MS) appendFileSync(LONG_TURNS_FILE, `${JSON.stringify(turn)}\n`)
  }, LOOK_MS).unref()
}
