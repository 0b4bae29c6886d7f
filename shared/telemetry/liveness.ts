/**
 * A service whose main thread stands still answers nobody, not even a probe: a thread beside it ends the process, and whoever supervises it
 * starts another. What was under way is lost as by any kill, and repeated.
 */
import { Worker } from 'node:worker_threads'

const BEAT_MS = 250

/** Ends the process with SIGKILL once its main thread has not come round for `limitMs`. Keeps no process alive. */
export function watchLiveness(limitMs: number): { close(): Promise<number> } {
  const beats = new Int32Array(new SharedArrayBuffer(4))
  const timer = setInterval(() => Atomics.add(beats, 0, 1), BEAT_MS)
  timer.unref()
  const worker = new Worker(new URL('./liveness-worker.ts', import.meta.url), {
    workerData: { beats, limitMs },
    name: 'liveness',
    // The process's own flags may be none for a thread.
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
