/**
 * Where log lines go: written in the background, and at the exit as far as their reader takes them. Pino's own output tries for ever at the
 * exit when its reader is gone (sonic-boom goes on after EPIPE), and keeps without bound what a reader that stands still does not take.
 */
import { write, writeSync } from 'node:fs'

/** Of lines that wait. What comes beyond is dropped. */
const WAITING_CHARACTERS_MAX = 16 << 20
const RETRY_MS = 20
/** How long an exit waits for a reader that stands still, and for one that takes lines slowly. */
const [STILL_MS, EXIT_MS] = [2000, 5000]

/** A stream for pino that writes to a file descriptor. */
export function openLogOutput(fd: number): { write(line: string): void } {
  let lines: string[] = []
  let characters = 0
  let isBusy = false
  let isGone = false
  /** What the reader has not taken yet; undefined while it is on its way. */
  let rest: Buffer | undefined

  function takeWaiting(): Buffer {
    const text = lines.join('')
    lines = []
    characters = 0
    return Buffer.from(text)
  }

  function next(bytes: Buffer): void {
    rest = undefined
    isBusy = bytes.length > 0
    if (!isBusy) return
    write(fd, bytes, (error, count) => {
      if (error && error.code !== 'EAGAIN') {
        isGone = true
        lines = []
        return
      }
      if (!error) return next(count < bytes.length ? bytes.subarray(count) : takeWaiting())
      rest = bytes
      setTimeout(next, RETRY_MS, bytes).unref()
    })
  }

  function writeRest(): void {
    let bytes = Buffer.concat([rest ?? Buffer.alloc(0), takeWaiting()])
    const end = performance.now() + EXIT_MS
    for (let until = performance.now() + STILL_MS; bytes.length > 0 && performance.now() < Math.min(until, end);) {
      try {
        bytes = bytes.subarray(writeSync(fd, bytes))
        until = performance.now() + STILL_MS
      } catch (error) {
        if (!(error instanceof Error && 'code' in error && error.code === 'EAGAIN')) return
      }
    }
  }

  process.on('exit', () => {
    if (!isGone) writeRest()
  })
  return {
    write(line) {
      if (isGone || characters > WAITING_CHARACTERS_MAX) return
      lines.push(line)
      characters += line.length
      if (!isBusy) next(takeWaiting())
    },
  }
}
