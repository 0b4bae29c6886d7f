/**
 * JSON values, one per line, over the pipe between a process and its child, and bytes as they are: a line `#<length>` says that so many
 * follow. Node's own channel accepts values of any size; here a child's messages are bounded before they are parsed.
 */
import type { Duplex } from 'node:stream'
import type { z } from 'zod'

/** `send` and `sendBytes` are no-ops once the pipe has closed. */
export type Lines<Out> = {
  send(value: Out): void
  /** Sends the bytes without a copy: they must not change before `flushed` has resolved. */
  sendBytes(bytes: Uint8Array): void
  /** Resolves once the operating system has all that was sent. */
  flushed(): Promise<void>
  close(): void
}

/** `now` returns milliseconds. */
export type LinesOptions<In> = {
  pipe: Duplex
  schema: z.ZodType<In>
  /** Longest line that is accepted, and most bytes at once, in bytes. */
  lineBytesMax: number
  /** Most bytes that are accepted within any second. */
  bytesPerSecondMax: number
  now: () => number
  /** Whether the other side is known to read: if so, what waits for it may be more than usual. False where left out. */
  isReading?(): boolean
  onValue(value: In): void
  /** Without it no bytes are accepted. */
  onBytes?(bytes: Buffer<ArrayBuffer>): void
  /** The other side sent something that is too long, too much, or not of the schema. The pipe is closed. */
  onBroken(reason: string): void
}

const NEW_LINE = 0x0a
const BYTES_FOLLOW = /^#(\d{1,15})$/
/** What may wait for the other side to read it, unless it is known to read. */
const UNREAD_BYTES_MAX = 256 << 20
/** It says that it lives, and may still not read. */
const READING_UNREAD_BYTES_MAX = 4 * UNREAD_BYTES_MAX

/** Reads and writes lines on the pipe until it closes. */
export function openLines<In, Out>(options: LinesOptions<In>): Lines<Out> {
  const { pipe, schema, lineBytesMax, bytesPerSecondMax, now, isReading, onValue, onBytes, onBroken } = options
  // Of the line, or of the bytes, that have not come to their end.
  let parts: Buffer[] = []
  let waiting = 0
  /** How many bytes follow; undefined in a line. */
  let expected: number | undefined
  let second = { at: 0, bytes: 0 }
  let closed = false

  function close(): void {
    closed = true
    pipe.destroy()
  }

  function giveUp(reason: string): void {
    if (closed) return
    close()
    onBroken(reason)
  }

  /** Whether the line says that bytes follow, which it does not if there are none. */
  function bytesFollow(line: string): boolean {
    const length = onBytes && BYTES_FOLLOW.exec(line)?.[1]
    if (length === undefined) return false
    if (Number(length) > lineBytesMax) giveUp(`more than ${lineBytesMax} bytes at once`)
    else if (Number(length) === 0) onBytes!(Buffer.alloc(0))
    else expected = Number(length)
    return true
  }

  function onLine(line: string): void {
    if (bytesFollow(line)) return
    let parsed: ReturnType<typeof schema.safeParse>
    try {
      parsed = schema.safeParse(JSON.parse(line))
    } catch {
      return giveUp('a line is not JSON')
    }
    if (parsed.success) onValue(parsed.data)
    else giveUp(`a line is not of the protocol: ${parsed.error.issues[0]?.path.join('.')}: ${parsed.error.issues[0]?.message}`)
  }

  function keep(part: Buffer): void {
    parts.push(part)
    waiting += part.length
  }

  /** All that waits, which is a whole line or all of the bytes. */
  function take(): Buffer<ArrayBuffer> {
    const whole = Buffer.concat(parts)
    parts = []
    waiting = 0
    return whole
  }

  /** Takes what belongs to the bytes that are expected, or to the line; returns where the next line or bytes begin. */
  function takeFrom(chunk: Buffer, from: number): number {
    if (expected !== undefined) {
      const end = Math.min(chunk.length, from + expected - waiting)
      keep(chunk.subarray(from, end))
      if (waiting === expected) {
        expected = undefined
        onBytes?.(take())
      }
      return end
    }
    const end = chunk.indexOf(NEW_LINE, from)
    keep(chunk.subarray(from, end < 0 ? chunk.length : end))
    if (waiting > lineBytesMax) giveUp(`a line of more than ${lineBytesMax} bytes`)
    else if (end >= 0) onLine(take().toString('utf8'))
    return end < 0 ? chunk.length : end + 1
  }

  function onChunk(chunk: Buffer): void {
    const at = Math.floor(now() / 1000)
    if (at !== second.at) second = { at, bytes: 0 }
    second.bytes += chunk.length
    if (second.bytes > bytesPerSecondMax) return giveUp(`more than ${bytesPerSecondMax} bytes within a second`)
    for (let from = 0; from < chunk.length && !closed;) from = takeFrom(chunk, from)
  }

  /** Ends the connection to a side that leaves too much unread. */
  function assertRead(): void {
    const most = isReading?.() === true ? READING_UNREAD_BYTES_MAX : UNREAD_BYTES_MAX
    if (pipe.writableLength > most) giveUp('it does not read what it is sent')
  }

  pipe.on('data', onChunk)
  // The end of the process, which is watched, says all that an error of its pipe could say.
  pipe.on('error', () => {})
  return {
    send(value) {
      if (closed || !pipe.writable) return
      pipe.write(`${JSON.stringify(value)}\n`)
      assertRead()
    },
    sendBytes(bytes) {
      if (closed || !pipe.writable) return
      pipe.write(`#${bytes.length}\n`)
      pipe.write(bytes)
      assertRead()
    },
    flushed: () => new Promise((resolve) => (closed || !pipe.writable ? resolve() : pipe.write('', () => resolve()))),
    close,
  }
}
