/** The thread of `encode-thread.ts`: rows in, files or faults out. */
import { parentPort } from 'node:worker_threads'
import type { Rows } from '../sink.ts'
import { TooManyFolders } from './folders.ts'
import { filesOf, type FileSpec } from './object-files.ts'

parentPort!.on('message', ({ id, rows, spec }: { id: number; rows: Rows[]; spec: FileSpec }) => {
  try {
    const made = filesOf(rows, spec)
    parentPort!.postMessage({ id, made })
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    parentPort!.postMessage({ id, error: message, isFinal: error instanceof TooManyFolders })
  }
})
