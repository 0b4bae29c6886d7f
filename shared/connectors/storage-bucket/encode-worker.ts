/** The thread of `encode-thread.ts`: rows in, files or faults out. */
import { reasonOf } from '../../errors/reason-of.ts'
import { parentPort } from 'node:worker_threads'
import type { Rows } from '../sink.ts'
import { filesOf, type FileSpec } from './object-files.ts'

parentPort!.on('message', ({ id, rows, spec }: { id: number; rows: Rows[]; spec: FileSpec }) => {
  try {
    const made = filesOf(rows, spec)
    // Transferred, not copied, unless a file is only part of its buffer: small ones may share a pooled buffer.
    const files = 'files' in made ? made.files.map(({ file }) => file) : []
    const own = files.filter(({ byteLength, buffer }) => byteLength === buffer.byteLength).map(({ buffer }) => buffer as ArrayBuffer)
    parentPort!.postMessage({ id, made }, own)
  } catch (error) {
    parentPort!.postMessage({ id, error: reasonOf(error) })
  }
})
