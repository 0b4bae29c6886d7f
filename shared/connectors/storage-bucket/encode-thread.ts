/** Encodes Parquet beside the main thread, which heartbeats and moves other pipelines' records: a file takes it a second. */
import { Worker } from 'node:worker_threads'
import type { Rows } from '../sink.ts'
import type { Encoded } from './parquet.ts'

export type ParquetThread = {
  /** Rejects when the thread ends; the next call gets another one. */
  encode(rows: readonly Rows[], fields: Readonly<Record<string, string>> | undefined): Promise<Encoded>
  close(): Promise<void>
}

type Answer = { id: number; encoded: Encoded } | { id: number; error: string }

export function openParquetThread(): ParquetThread {
  let worker: Worker | undefined
  let next = 1
  const waiting = new Map<number, PromiseWithResolvers<Encoded>>()

  function start(): Worker {
    const started = new Worker(new URL('./parquet-worker.ts', import.meta.url), { name: 'parquet' })
    started.on('message', (answer: Answer) => {
      const settled = waiting.get(answer.id)
      waiting.delete(answer.id)
      if ('error' in answer) settled?.reject(new Error(answer.error))
      else settled?.resolve(answer.encoded)
    })
    const end = (reason: string) => {
      if (worker === started) worker = undefined
      for (const settled of waiting.values()) settled.reject(new Error(reason))
      waiting.clear()
    }
    started.on('error', (error) => end(`the Parquet thread failed: ${error.message}`))
    started.on('exit', () => end('the Parquet thread ended'))
    // It must not keep the process alive.
    started.unref()
    return started
  }

  return {
    encode(rows, fields) {
      worker ??= start()
      const id = next++
      const settled = Promise.withResolvers<Encoded>()
      waiting.set(id, settled)
      // Copied, not handed over: the rows are written again when the store is away.
      worker.postMessage({ id, rows, fields })
      return settled.promise
    },
    close: async () => void (await worker?.terminate()),
  }
}
