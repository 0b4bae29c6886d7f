/** Looks whether the main thread still comes round. Looks are counted, not time: a process that was paused as a whole has done nothing wrong. */
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
  writeSync(STDERR, `the main thread has stood still for ${Math.round(limitMs / 1000)} s: the process ends\n`)
  process.kill(process.pid, 'SIGKILL')
}, LOOK_MS)
