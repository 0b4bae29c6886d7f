/** Checks that the main thread still runs, or could not for want of a processor. */
import { writeSync } from 'node:fs'
import { workerData } from 'node:worker_threads'
import { createSilence, waitedSecondsOf } from '../processes/silence.ts'

const { beats, limitMs } = workerData as { beats: Int32Array; limitMs: number }
const LOOK_MS = Math.min(1000, limitMs / 4)
const STDERR = 2

const silence = createSilence(LOOK_MS / 1000)
let seen = -1

setInterval(() => {
  const now = Atomics.load(beats, 0)
  if (now !== seen) silence.heard()
  seen = now
  if (!silence.isOver(limitMs / 1000, waitedSecondsOf(process.pid))) return
  writeSync(STDERR, `the main thread has been blocked for ${Math.round(limitMs / 1000)} s: ending the process\n`)
  process.kill(process.pid, 'SIGKILL')
}, LOOK_MS)
