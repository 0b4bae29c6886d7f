/** The thread of `encode-thread.ts`: rows in, files or faults out. */
import { reasonOf } from '../../errors/reason-of.ts'
import { parentPort } from 'node:worker_threads'
import type { Rows } from '../sink.ts'
import type { AskedPart } from '../thread.ts'
import type { EncodePart } from './encode-thread.ts'
import { filesOf } from './object-files.ts'

/** Rows whose spec has not come yet, by id. */
const gathered = new Map<number, Rows[]>()

parentPort!.on('message', ({ id, part }: AskedPart<EncodePart>) => {
  const rows = gathered.get(id) ?? []
  if ('bytes' in part) {
    rows.push(part)
    gathered.set(id, rows)
    return
  }
  gathered.delete(id)
  try {
    const made = filesOf(rows, part)
    // Transferred, not copied, unless a file is only part of its buffer: small ones may share a pooled buffer.
    const files = 'files' in made ? made.files.map(({ file }) => file) : []
    const own = files.filter(({ byteLength, buffer }) => byteLength === buffer.byteLength).map(({ buffer }) => buffer as ArrayBuffer)
    parentPort!.postMessage({ id, made }, own)
  } catch (error) {
    parentPort!.postMessage({ id, error: reasonOf(error) })
  }
})
