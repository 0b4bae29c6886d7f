/**
 * Encodes files in a thread of its own, because the main thread sends heartbeats and moves other pipelines' records: a Parquet file takes
 * a second, rows whose members have to be read take tenths of one.
 */
import { Worker } from 'node:worker_threads'
import type { Rows } from '../sink.ts'
import type { FileSpec, ObjectFiles } from './object-files.ts'

/** A worker thread that makes Parquet files. */
export type EncodeThread = {
  /** Rejects if the thread ends; the next call starts another one. */
  encode(rows: readonly Rows[], spec: FileSpec): Promise<ObjectFiles>
  close(): Promise<void>
}

type Answer = { id: number; made: ObjectFiles } | { id: number; error: string }

/** Starts the thread at its first use. */
export function openEncodeThread(): EncodeThread {
  let worker: Worker | undefined
  let next = 1
  const waiting = new Map<number, PromiseWithResolvers<ObjectFiles>>()

  function start(): Worker {
    const started = new Worker(new URL('./encode-worker.ts', import.meta.url), { name: 'encode' })
    started.on('message', (answer: Answer) => {
      const settled = waiting.get(answer.id)
      waiting.delete(answer.id)
      if ('error' in answer) settled?.reject(new Error(answer.error))
      else settled?.resolve(answer.made)
    })
    const end = (reason: string) => {
      // The end of one that failed comes when another one may be at work.
      if (worker !== started) return
      worker = undefined
      for (const settled of waiting.values()) settled.reject(new Error(reason))
      waiting.clear()
    }
    started.on('error', (error) => end(`the encoding thread failed: ${error.message}`))
    started.on('exit', () => end('the encoding thread ended'))
    // The thread must not keep the process alive.
    started.unref()
    return started
  }

  return {
    encode(rows, spec) {
      worker ??= start()
      const id = next++
      const settled = Promise.withResolvers<ObjectFiles>()
      waiting.set(id, settled)
      // Copied, not transferred: if the store is unavailable, the same rows are written again.
      worker.postMessage({ id, rows, spec })
      return settled.promise
    },
    close: async () => void (await worker?.terminate()),
  }
}
