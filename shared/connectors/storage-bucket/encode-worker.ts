/** The thread of `parquet-thread.ts`: rows in, a file or faults out. */
import { parentPort } from 'node:worker_threads'
import type { Rows } from '../sink.ts'
import { encodeParquet } from './parquet.ts'

parentPort!.on('message', ({ id, rows, fields }: { id: number; rows: Rows[]; fields?: Record<string, string> }) => {
  try {
    const encoded = encodeParquet(rows, fields)
    parentPort!.postMessage({ id, encoded }, 'file' in encoded ? [encoded.file.buffer as ArrayBuffer] : [])
  } catch (error) {
    parentPort!.postMessage({ id, error: error instanceof Error ? error.message : String(error) })
  }
})
