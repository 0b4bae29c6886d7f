/** The newest lines of pipelines, in memory: what the logs topic holds of the last day, within bounds per pipeline and over all of them. */
import type { LogEntry } from '../../../shared/model/logs.ts'

/** A line and where it is on the logs topic. */
export type Line = { offset: bigint; entry: LogEntry }

export type LogBook = {
  add(pipelineId: string, line: Line): void
  /** The pipeline's lines, oldest first. */
  linesOf(pipelineId: string): readonly Line[]
  /** Calls back when the pipeline has new lines, until the returned function is called. */
  listen(pipelineId: string, onLine: () => void): () => void
}

const LINES_MAX = 1000
const ALL_CHARACTERS_MAX = 64 << 20
/** What a line takes beside its message. */
const LINE_CHARACTERS = 400
const KEPT_MS = 86_400_000

type Book = { lines: Line[]; characters: number }

const sizeOf = ({ entry }: Line): number => LINE_CHARACTERS + entry.message.length
const ageOf = (line: Line | undefined, nowMs: number): number => (line ? nowMs - Date.parse(line.entry.at) : 0)

export function createLogBook(now: () => number): LogBook {
  /** The pipeline that has logged least recently comes first. */
  const books = new Map<string, Book>()
  const listeners = new Map<string, Set<() => void>>()
  let characters = 0

  function drop(book: Book, count: number): void {
    const gone = book.lines.splice(0, count).reduce((sum, line) => sum + sizeOf(line), 0)
    book.characters -= gone
    characters -= gone
  }

  /** Forgets pipelines that have logged nothing for a day, and while there is too much, those that have been silent for longest. */
  function makeRoom(): void {
    for (const [id, book] of books) {
      if (characters <= ALL_CHARACTERS_MAX && ageOf(book.lines.at(-1), now()) < KEPT_MS) return
      drop(book, book.lines.length)
      books.delete(id)
    }
  }

  return {
    add(pipelineId, line) {
      const book = books.get(pipelineId) ?? { lines: [], characters: 0 }
      books.delete(pipelineId)
      books.set(pipelineId, book)
      book.lines.push(line)
      book.characters += sizeOf(line)
      characters += sizeOf(line)
      // A tenth at once: dropping one line for each that comes would move all of them each time.
      if (book.lines.length > LINES_MAX * 1.1) drop(book, book.lines.length - LINES_MAX)
      makeRoom()
      for (const onLine of listeners.get(pipelineId) ?? []) onLine()
    },
    linesOf: (pipelineId) => (books.get(pipelineId)?.lines ?? []).filter((line) => ageOf(line, now()) < KEPT_MS),
    listen(pipelineId, onLine) {
      const all = listeners.get(pipelineId) ?? new Set()
      listeners.set(pipelineId, all)
      all.add(onLine)
      return () => {
        all.delete(onLine)
        if (all.size === 0) listeners.delete(pipelineId)
      }
    },
  }
}
