/** Checks that the main thread still runs. It counts checks, not time, so that a process paused as a whole is not ended. */
import { writeSync } from 'node:fs'
import { workerData } from 'node:worker_threads'

const { beats, limitMs } = workerData as { beats: Int32Array; limitMs: number }
const LOOK_MS = Math.min(1000, limitMs / 4)
const STDERR = 2

let seen = -1
let still = 0
setInterval(() => {
  const now = Atomics.load(beats, 0)
  still = now === seen ? still + 1 : 0
  seen = now
  if (still * LOOK_MS < limitMs) return
  writeSync(STDERR, `the main thread has been blocked for ${Math.round(limitMs / 1000)} s: ending the process\n`)
  process.kill(process.pid, 'SIGKILL')
}, LOOK_MS)
