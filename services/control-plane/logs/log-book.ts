/** The newest lines of pipelines, in memory: what the logs topic holds, within bounds per pipeline and over all of them. */
import type { LogEntry } from '../../../shared/model/logs.ts'

/** A line and where it is on the logs topic. */
export type Line = { offset: bigint; entry: LogEntry }

export type LogBook = {
  add(pipelineId: string, line: Line): void
  /** The pipeline's lines, oldest first. */
  linesOf(pipelineId: string): readonly Line[]
  /** Calls back with each new line of the pipeline until the returned function is called. */
  listen(pipelineId: string, onLine: (line: Line) => void): () => void
}

const LINES_MAX = 1000
const ALL_CHARACTERS_MAX = 64 << 20
/** What a line takes beside its message. */
const LINE_CHARACTERS = 400

type Book = { lines: Line[]; characters: number }

export function createLogBook(): LogBook {
  const books = new Map<string, Book>()
  const listeners = new Map<string, Set<(line: Line) => void>>()
  let characters = 0

  function drop(book: Book, count: number): void {
    const gone = book.lines.splice(0, count).reduce((sum, { entry }) => sum + LINE_CHARACTERS + entry.message.length, 0)
    book.characters -= gone
    characters -= gone
  }

  /** Halves the fullest pipeline's lines until all fit. */
  function makeRoom(): void {
    while (characters > ALL_CHARACTERS_MAX) {
      const [id, book] = [...books].reduce((most, each) => (each[1].characters > most[1].characters ? each : most))
      drop(book, Math.ceil(book.lines.length / 2))
      if (book.lines.length === 0) books.delete(id)
    }
  }

  return {
    add(pipelineId, line) {
      let book = books.get(pipelineId)
      if (!book) books.set(pipelineId, (book = { lines: [], characters: 0 }))
      book.lines.push(line)
      book.characters += LINE_CHARACTERS + line.entry.message.length
      characters += LINE_CHARACTERS + line.entry.message.length
      // A tenth at once: dropping one line for each that comes would move all of them each time.
      if (book.lines.length > LINES_MAX * 1.1) drop(book, book.lines.length - LINES_MAX)
      makeRoom()
      for (const onLine of listeners.get(pipelineId) ?? []) onLine(line)
    },
    linesOf: (pipelineId) => books.get(pipelineId)?.lines ?? [],
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
