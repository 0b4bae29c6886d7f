/**
 * JSON values, one per line, over the pipe between a process and its child. Node's own channel accepts values of any size; here a child's
 * messages are bounded before they are parsed.
 */
import type { Duplex } from 'node:stream'
import type { z } from 'zod'

/** `send` is a no-op once the pipe has closed. */
export type Lines<Out> = {
  send(value: Out): void
  /** Resolves once the operating system has all that was sent. */
  flushed(): Promise<void>
  close(): void
}

/** `now` returns milliseconds. */
export type LinesOptions<In> = {
  pipe: Duplex
  schema: z.ZodType<In>
  /** Longest line that is accepted, in bytes. */
  lineBytesMax: number
  /** Most bytes that are accepted within any second. */
  bytesPerSecondMax: number
  now: () => number
  /** Whether the other side is known to read: if so, what waits for it may be more than usual. False where left out. */
  isReading?(): boolean
  onValue(value: In): void
  /** The other side sent something that is too long, too much, or not of the schema. The pipe is closed. */
  onBroken(reason: string): void
}

const NEW_LINE = 0x0a
/** What may wait for the other side to read it, unless it is known to read. */
const UNREAD_BYTES_MAX = 256 << 20
/** It says that it lives, and may still not read. */
const READING_UNREAD_BYTES_MAX = 4 * UNREAD_BYTES_MAX

/** Reads and writes lines on the pipe until it closes. */
export function openLines<In, Out>(options: LinesOptions<In>): Lines<Out> {
  const { pipe, schema, lineBytesMax, bytesPerSecondMax, now, isReading, onValue, onBroken } = options
  let parts: Buffer[] = []
  let waiting = 0
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

  function onLine(line: string): void {
    let parsed: ReturnType<typeof schema.safeParse>
    try {
      parsed = schema.safeParse(JSON.parse(line))
    } catch {
      return giveUp('a line is not JSON')
    }
    if (parsed.success) onValue(parsed.data)
    else giveUp(`a line is not of the protocol: ${parsed.error.issues[0]?.path.join('.')}: ${parsed.error.issues[0]?.message}`)
  }

  function onBytes(bytes: Buffer): void {
    const at = Math.floor(now() / 1000)
    if (at !== second.at) second = { at, bytes: 0 }
    second.bytes += bytes.length
    if (second.bytes > bytesPerSecondMax) return giveUp(`more than ${bytesPerSecondMax} bytes within a second`)
    let from = 0
    for (let end = bytes.indexOf(NEW_LINE); end >= 0 && !closed; end = bytes.indexOf(NEW_LINE, from)) {
      waiting += end - from
      if (waiting > lineBytesMax) break
      parts.push(bytes.subarray(from, end))
      const line = Buffer.concat(parts).toString('utf8')
      parts = []
      waiting = 0
      from = end + 1
      onLine(line)
    }
    if (closed) return
    parts.push(bytes.subarray(from))
    waiting += bytes.length - from
    if (waiting > lineBytesMax) giveUp(`a line of more than ${lineBytesMax} bytes`)
  }

  pipe.on('data', onBytes)
  // The end of the process, which is watched, says all that an error of its pipe could say.
  pipe.on('error', () => {})
  return {
    send(value) {
      if (closed || !pipe.writable) return
      pipe.write(`${JSON.stringify(value)}\n`)
      const most = isReading?.() === true ? READING_UNREAD_BYTES_MAX : UNREAD_BYTES_MAX
      if (pipe.writableLength > most) giveUp('it does not read what it is sent')
    },
    flushed: () => new Promise((resolve) => (closed || !pipe.writable ? resolve() : pipe.write('', () => resolve()))),
    close,
  }
}
