/**
 * What a runner is at work on, noted outside of it: a file without a name that both processes hold open. What is written there is in the
 * kernel's page cache at once, so it survives every way in which the runner can end. One fixed part per lane and per start under way.
 */
import { readSync, writeSync } from 'node:fs'

/** In which phases of its life a pipeline is noted. */
const PHASES = ['compile', 'open', 'run', 'thrown'] as const
export type Phase = (typeof PHASES)[number]
/** A run (`runIdOf`) and what was being done for it. */
export type Note = { runId: string; phase: Phase }

const NOTE_BYTES = 96
/** Lanes have the first parts of the file, the main thread has the others. */
export const LANE_NOTES = 128
const NOTES_MAX = 1024
/** Size of the whole file. */
export const NOTES_BYTES = NOTES_MAX * NOTE_BYTES
/** Where the last exception is noted. */
const THROWN_AT = NOTES_MAX - 1

const EMPTY = Buffer.alloc(NOTE_BYTES)

/** Writes the note into this part of the file, from 0; undefined empties it. A note that can't be written is missed, and nothing else. */
export function writeNote(fd: number, index: number, note: Note | undefined): void {
  const bytes = note ? Buffer.alloc(NOTE_BYTES) : EMPTY
  if (note) bytes.write(`${note.phase} ${note.runId}`, 0, NOTE_BYTES, 'latin1')
  try {
    writeSync(fd, bytes, 0, NOTE_BYTES, index * NOTE_BYTES)
  } catch {
    // Without it, all runs of the runner are suspects.
  }
}

/** The notes that stand in the file; none for parts of it that hold anything else. */
export function readNotes(fd: number): Note[] {
  const bytes = Buffer.alloc(NOTES_BYTES)
  const length = readSync(fd, bytes, 0, bytes.length, 0)
  const notes: Note[] = []
  for (let at = 0; at + NOTE_BYTES <= length; at += NOTE_BYTES) {
    const text = bytes.toString('latin1', at, at + NOTE_BYTES)
    const [first, runId = ''] = text.slice(0, text.indexOf('\0') >>> 0).split(' ')
    const phase = PHASES.find((each) => each === first)
    if (phase && runId !== '') notes.push({ phase, runId })
  }
  return notes
}

export type Notes = ReturnType<typeof openNotes>

/** The main thread's side of a runner. */
export function openNotes(fd: number) {
  const taken = new Set<number>()
  return {
    /** Notes the phase until `work` has settled. Beyond some 900 phases at once the rest are not noted. */
    async during<T>(runId: string, phase: Phase, work: () => Promise<T>): Promise<T> {
      let index = LANE_NOTES
      while (taken.has(index)) index++
      if (index >= THROWN_AT) return work()
      taken.add(index)
      writeNote(fd, index, { runId, phase })
      try {
        return await work()
      } finally {
        writeNote(fd, index, undefined)
        taken.delete(index)
      }
    },
    /** An exception was thrown past everything: for which run, where that is known. */
    thrown(runId: string): void {
      writeNote(fd, THROWN_AT, { runId, phase: 'thrown' })
    },
  }
}
