/** Writes records of any source to a stream: in requests of a good size, one after the other, so that a slow service slows the source. */
import { ApiError, ConnectionError, type Detail } from './core/errors.ts'
import { writeJson } from './core/exact-json.ts'
import { segment, type Transport } from './core/transport.ts'
import type { WriteStreamDataResponse } from './generated/types.ts'

export type WriteOptions = {
  /** Records of one request (default: 5,000). */
  recordsMax?: number
  /** After this many milliseconds without a new record, those at hand are sent (default: 1,000). */
  silenceMs?: number
  /**
   * Makes the keys of the requests. Writing the same records again with the same prefix and sizes writes none of them twice, within the 24
   * hours that the service remembers keys.
   */
  keyPrefix?: string
  /** Stops reading the source; what was read is still written. */
  signal?: AbortSignal | undefined
  /** Called after each request, with the number of records that are written so far. */
  onProgress?: (written: number) => void
}
export type Written = { records: number; requests: number }

/** Not all records were written; `records` of them were. `cause` says why; its places count within the request that was refused. */
export class WriteError extends Error {
  readonly records: number
  /** The service's for a refusal; `unreachable` where no answer came, `failed` where the source of the records did. */
  readonly code: string
  /** The answer's status, if there was an answer. */
  readonly status: number | undefined
  /** Names the refused request in the service's logs. */
  readonly requestId: string | undefined
  /** What was refused: `/records/7/id` is a member of the source's eighth record. */
  readonly details: readonly Detail[]
  /** `sent`: how many records the request had that failed. */
  constructor(records: number, cause: unknown, sent = 0) {
    const counted = (text: string): string => text.replaceAll(PLACE, (_, before: string, n: string) => `${before}${Number(n) + records}`)
    super(
      `${counted(cause instanceof Error ? cause.message : String(cause))} (${records} ${records === 1 ? 'record was' : 'records were'} written before)`,
      { cause },
    )
    this.name = 'WriteError'
    this.records = records
    this.code = cause instanceof ApiError ? cause.code : cause instanceof ConnectionError ? 'unreachable' : 'failed'
    this.status = cause instanceof ApiError ? cause.status : undefined
    this.requestId = cause instanceof ApiError ? cause.requestId : undefined
    // One that is too large has a request to itself, and the answer to that names no record.
    const isTooLarge = sent === 1 && this.status === TOO_LARGE
    const details = cause instanceof ApiError ? cause.details.map((each) => ({ ...each, path: counted(each.path) })) : []
    this.details = isTooLarge ? [{ path: `/records/${records}`, message: 'is too large for one request' }, ...details] : details
  }
}
/** The status of a body that is larger than the service takes (RFC 9110 §15.5.14). */
const TOO_LARGE = 413
/** A record of a request, in an error. */
const PLACE = /((?:^|[\s;])\/records\/)(\d+)/g

const RECORDS_MAX = 5000
const SILENCE_MS = 1000
/** Below the service's limit of 1 MiB for a body. */
const BYTES_MAX = 900 << 10

const encoder = new TextEncoder()

/** The source's next line, or why it is not waited for any longer. */
type Heard = IteratorResult<string> | 'stopped' | 'silence'

/** The records as lines of JSON. */
export async function* linesOf(records: Iterable<unknown> | AsyncIterable<unknown>): AsyncGenerator<string, void, void> {
  for await (const record of records) {
    const line = writeJson(record)
    if (line === undefined) throw new TypeError('a record must be a JSON value')
    yield line
  }
}

/**
 * Writes lines, each of which is one JSON document, as they are. Each request is written whole or not at all, also when it had to be sent
 * twice. Throws WriteError where the source or the service fails.
 */
export async function writeLines(
  { call }: Transport,
  streamId: string,
  lines: AsyncIterable<string>,
  { recordsMax = RECORDS_MAX, silenceMs = SILENCE_MS, keyPrefix, signal, onProgress }: WriteOptions = {},
): Promise<Written> {
  const written: Written = { records: 0, requests: 0 }
  let waiting: string[] = []
  let bytes = 0
  /** Records of the request that was sent last. */
  let sent = 0

  async function flush(): Promise<void> {
    if (waiting.length === 0) return
    const idempotencyKey = keyPrefix === undefined ? undefined : `${keyPrefix}-${written.requests}`
    const body = waiting.join('\n')
    sent = waiting.length
    ;[waiting, bytes] = [[], 0]
    const path = `/streams/${segment(streamId)}/data`
    const answer = await call<WriteStreamDataResponse>('POST', path, { lines: body, isIdempotent: true, idempotencyKey })
    written.records += answer.records
    written.requests++
    onProgress?.(written.records)
  }

  const source = lines[Symbol.asyncIterator]()
  let stop = () => {}
  const onAbort = () => stop()
  signal?.addEventListener('abort', onAbort)

  /** What comes first. It is a promise of its own each time: one that lasts as long as the source would hold on to every record of it. */
  function heard(): Promise<Heard> {
    let timer: ReturnType<typeof setTimeout> | undefined
    return new Promise<Heard>((resolve, reject) => {
      next.then(resolve, reject)
      stop = () => resolve('stopped')
      // Behind a record that is there already, which was read and is to be written.
      if (signal?.aborted) queueMicrotask(stop)
      if (waiting.length > 0) timer = setTimeout(resolve, silenceMs, 'silence')
    }).finally(() => clearTimeout(timer))
  }

  let next = source.next()
  try {
    for (;;) {
      const got = await heard()
      if (got === 'stopped') break
      if (got === 'silence') {
        await flush()
        continue
      }
      if (got.done) break
      const size = encoder.encode(got.value).length + 1
      if (bytes + size > BYTES_MAX) await flush()
      waiting.push(got.value)
      bytes += size
      if (waiting.length >= recordsMax) await flush()
      next = source.next()
    }
    await flush()
    return written
  } catch (error) {
    const refused = sent
    // Records read before the source failed are still written.
    await flush().catch(() => {})
    throw new WriteError(written.records, error, refused)
  } finally {
    signal?.removeEventListener('abort', onAbort)
    next.catch(() => {})
    void source.return?.()
  }
}
