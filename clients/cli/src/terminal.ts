/** What is written to a terminal: progress overwrites itself, and whatever comes next begins on a line of its own. */

export type Terminal = {
  write(text: string): void
  /** A line on standard error; one that begins with a carriage return is progress, which only terminals show, and without text ends. */
  note(text: string): void
  /** Ends the line of the last progress. */
  end(): void
}

/** Clears what an earlier, longer line has left. */
const CLEAR_TO_END = '\u001b[K'

export function createTerminal(out: (text: string) => void, err: (text: string) => void, isTerminal: boolean): Terminal {
  let isOpen = false
  function end(): void {
    if (isOpen) err('\n')
    isOpen = false
  }
  return {
    end,
    write(text) {
      end()
      out(text)
    },
    note(text) {
      if (!text.startsWith('\r')) {
        end()
        err(`${text}\n`)
      } else if (isTerminal) {
        err(text + CLEAR_TO_END)
        isOpen = text !== '\r'
      }
    },
  }
}
