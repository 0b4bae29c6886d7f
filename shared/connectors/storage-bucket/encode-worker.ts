/** The thread of `encode-thread.ts`: rows in, files or faults out. */
import { parentPort } from 'node:worker_threads'
import type { Rows } from '../sink.ts'
import { filesOf, type FileSpec } from './object-files.ts'

parentPort!.on('message', ({ id, rows, spec }: { id: number; rows: Rows[]; spec: FileSpec }) => {
  try {
    const made = filesOf(rows, spec)
    parentPort!.postMessage({ id, made })
  } catch (error) {
    parentPort!.postMessage({ id, error: error instanceof Error ? error.message : String(error) })
  }
})
