/** One client of server-sent events (WHATWG HTML, 9.2): frames, a heartbeat, and an end for a client that does not read. */
import { PassThrough } from 'node:stream'
import type { Listener } from '../../../shared/api/contract.ts'
import { printJson } from '../shown/print-json.ts'

/** Bytes that wait for a client; further events wait until it has read. */
const WAITING_BYTES_MAX = 1 << 20
/** Proxies close connections that are silent for a minute. */
const HEARTBEAT_MS = 15_000
/** A client that reads nothing for this many heartbeats is gone. */
const UNREAD_HEARTBEATS_MAX = 4
/** How long the last bytes to a disconnected client may take. */
const LAST_WORDS_MS = 1000

export type SseClient = { body: PassThrough; listener: Listener; close(): void }

const HEARTBEAT = Buffer.from(': \n\n')
const END = Buffer.from('\n\n')

/** Line breaks are between the values of a record's JSON, never in them (RFC 8259 §7): spaces mean the same. */
function onOneLine(data: unknown): Buffer {
  const bytes = printJson(data)
  for (let at = 0; at < bytes.length; at++) if (bytes[at] === 0x0a || bytes[at] === 0x0d) bytes[at] = 0x20
  return bytes
}

/** `lastEventId`: as the client sent it. */
export function openSseClient(lastEventId: string | undefined): SseClient {
  const body = new PassThrough({ highWaterMark: 64 << 10 })
  const gone = new AbortController()
  let written = 0
  let readBefore = 0
  let unread = 0

  const waiting = (): number => body.writableLength + body.readableLength
  const isFull = (): boolean => waiting() > WAITING_BYTES_MAX

  function write(bytes: Buffer): boolean {
    if (gone.signal.aborted || isFull()) return false
    written += bytes.length
    body.write(bytes)
    return true
  }

  const heartbeat = setInterval(() => {
    const read = written - waiting()
    unread = waiting() > 0 && read === readBefore ? unread + 1 : 0
    readBefore = read
    if (unread > UNREAD_HEARTBEATS_MAX) close()
    else write(HEARTBEAT)
  }, HEARTBEAT_MS)

  function close(): void {
    if (gone.signal.aborted) return
    clearInterval(heartbeat)
    gone.abort()
    body.end()
    // A client that does not read would hold its connection for ever.
    setTimeout(() => body.destroy(), LAST_WORDS_MS).unref()
  }
  body.once('close', close)
  body.on('error', close)
  // Headers leave with the first bytes, so that a client knows that it is connected.
  write(HEARTBEAT)

  return {
    body,
    close,
    listener: {
      lastEventId,
      signal: gone.signal,
      async room() {
        while (isFull() && !gone.signal.aborted) await new Promise((resolve) => setTimeout(resolve, 100))
        return !gone.signal.aborted
      },
      send: (event, data, id) =>
        write(Buffer.concat([Buffer.from(`event: ${event}\n${id === undefined ? '' : `id: ${id}\n`}data: `), onOneLine(data), END])),
    },
  }
}
