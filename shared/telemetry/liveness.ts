/**
 * A service whose main thread is blocked answers no requests, not even probes: a second thread ends the process, and its supervisor starts
 * another. Work in progress is lost, as after any kill, and repeated.
 */
import { Worker } from 'node:worker_threads'

const BEAT_MS = 250
/** Longer than any turn of an event loop should take. */
const STILL_MS_MAX = 30_000

/** Watches the main thread, and ends the process with SIGKILL once it has been blocked for `limitMs`. Does not keep the process alive. */
export function watchLiveness(limitMs = STILL_MS_MAX): { close(): Promise<number> } {
  const beats = new Int32Array(new SharedArrayBuffer(4))
  const timer = setInterval(() => Atomics.add(beats, 0, 1), BEAT_MS)
  timer.unref()
  const worker = new Worker(new URL('./liveness-worker.ts', import.meta.url), {
    workerData: { beats, limitMs },
    name: 'liveness',
    // The process's own flags may not be valid for a thread.
    execArgv: [],
  })
  worker.unref()
  return {
    close() {
      clearInterval(timer)
      return worker.terminate()
    },
  }
}
