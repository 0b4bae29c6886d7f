/**
 * Sends batches of records as requests. A range is planned before it is sent, and every process cuts it into the same requests, so that a
 * request's idempotency key stays the same across retries and crashes. If a range fails in the middle, this process remembers each
 * request's result: what was accepted is not resent, and a refused record is not searched for again. After a crash the range is sent again,
 * under the same keys: at least once.
 */
import type { Response } from 'undici'
import { reasonOf } from '../../errors/reason-of.ts'
import { createBreaker } from '../breaker.ts'
import type { ConnectorContext } from '../connector.ts'
import { meaningOf, retryAfterMs } from '../http-answers.ts'
import { openHttpClient, textOf } from '../http-client.ts'
import { refusalIn } from '../refusal.ts'
import { deliveryNameOf, type Delivery, type OpenSink, type RefusedRecord, type Rows, type Written } from '../sink.ts'
import type { HttpSinkConfig } from './connector.ts'
import { cutRange, halve, reopenRefused, type Request } from './requests.ts'

const RANGE_BYTES = 4 << 20
const RANGE_RECORDS = 10_000
const RANGE_MS = 100
const SHOWN_CHARACTERS = 300
const ANSWER_BYTES_MAX = 64 << 10

type Row = { bytes: Uint8Array; start: number; end: number; offset: number }

function rowsOf(pieces: readonly Rows[]): Row[] {
  return pieces.flatMap(({ bytes, ends, offsets, count }) =>
    Array.from({ length: count }, (_, row) => ({ bytes, start: row === 0 ? 0 : ends[row - 1]!, end: ends[row]!, offset: offsets[row]! })),
  )
}

/** A planned range and its requests; how many of them were accepted, or refused for their records. */
type Range = { name: string; requests: Request[]; answered: number }

/** The request's rows among all, which are in the order of their offsets. */
function within(rows: readonly Row[], { first, last }: Request): readonly Row[] {
  let [low, high] = [0, rows.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (rows[middle]!.offset < first) low = middle + 1
    else high = middle
  }
  let end = low
  while (end < rows.length && rows[end]!.offset <= last) end++
  return rows.slice(low, end)
}

/** Rows end with a line break, which separates them in ndjson; an array has commas instead. */
function encodedBody(rows: readonly Row[], format: HttpSinkConfig['format']): Uint8Array {
  if (format === 'ndjson') return Buffer.concat(rows.map(({ bytes, start, end }) => bytes.subarray(start, end)))
  const parts = rows.flatMap(({ bytes, start, end }, index) => [Buffer.from(index === 0 ? '[' : ','), bytes.subarray(start, end - 1)])
  return Buffer.concat([...parts, Buffer.from(']')])
}

/** Throws where the answer ends too early: a proxy may begin one before the service behind it has done anything. A long one is left. */
async function readToEnd({ body }: Response): Promise<void> {
  let bytes = 0
  for await (const part of body ?? []) if ((bytes += (part as Uint8Array).length) > ANSWER_BYTES_MAX) return
}

/** Opens the sink; the web service is asked when rows come. */
export async function openHttpSink(config: HttpSinkConfig, context: ConnectorContext): Promise<OpenSink> {
  const client = openHttpClient(config, context)
  const breaker = createBreaker()
  const headers = { 'content-type': config.format === 'ndjson' ? 'application/x-ndjson' : 'application/json' }
  /** By partition. */
  const sent = new Map<number, Range>()

  type Answer =
    | { kind: 'taken' }
    | { kind: 'refused'; code: string; message: string }
    | Exclude<Written, { kind: 'delivered' | 'at_fault' }>

  async function post(key: string, rows: readonly Row[], signal: AbortSignal): Promise<Answer> {
    let answer
    try {
      answer = await client.request(
        config.url,
        { method: config.method, headers: { ...headers, 'idempotency-key': key }, body: encodedBody(rows, config.format) },
        signal,
      )
      if (answer.ok) await readToEnd(answer)
    } catch (error) {
      const reason = `the web service ${answer ? 'did not end its answer' : "can't be reached"}: ${reasonOf(error)}`
      if (refusalIn(error)) return { kind: 'permanent', reason }
      breaker.failed()
      return { kind: 'retry', afterMs: 0, reason }
    }
    const { status } = answer
    const meaning = meaningOf(status)
    if (meaning === 'delivered') {
      breaker.succeeded()
      return { kind: 'taken' }
    }
    // Masked before it is cut: what is cut through is not found any more.
    const text = context.mask(await textOf(answer, ANSWER_BYTES_MAX).catch(() => '')).slice(0, SHOWN_CHARACTERS)
    const message = `the web service answered ${status}${text === '' ? '' : `: ${text}`}`
    if (meaning === 'retry') {
      breaker.failed()
      return { kind: 'retry', afterMs: retryAfterMs(answer.headers.get('retry-after'), context.now()), reason: message }
    }
    if (meaning === 'permanent') return { kind: 'permanent', reason: message }
    // It works: only the records are wrong.
    breaker.succeeded()
    return { kind: 'refused', code: `http_${status}`, message }
  }

  /** Sends what is left of a request. If it is refused, sends each half, until the records at fault are alone. */
  async function deliver(
    range: Range,
    request: Request,
    rows: readonly Row[],
    faults: RefusedRecord[],
    signal: AbortSignal,
  ): Promise<Exclude<Answer, { kind: 'taken' | 'refused' }> | undefined> {
    if (request.isTaken) return undefined
    if (request.refused) {
      faults.push(request.refused)
      return undefined
    }
    const own = within(rows, request)
    const [first, last] = [own[0], own.at(-1)]
    if (!first || !last) return undefined
    if (!request.halves) {
      const answer = await post(`${range.name}/${first.offset}-${last.offset}/${own.length}`, own, signal)
      if (answer.kind !== 'taken' && answer.kind !== 'refused') return answer
      range.answered++
      if (answer.kind === 'taken') {
        request.isTaken = true
        return undefined
      }
      if (first.offset === last.offset) {
        request.refused = { offset: BigInt(first.offset), code: answer.code, message: answer.message }
        faults.push(request.refused)
        return undefined
      }
    }
    const offsets = own.map(({ offset }) => offset)
    const [left, right] = request.halves ?? halve(request, offsets)
    return (await deliver(range, left, own, faults, signal)) ?? (await deliver(range, right, own, faults, signal))
  }

  return {
    rows: { kind: 'json_lines' },
    boundaries: { bytesMax: RANGE_BYTES, recordsMax: RANGE_RECORDS, intervalMs: RANGE_MS },
    async write(delivery: Delivery, pieces, signal) {
      const waitMs = breaker.openForMs()
      if (waitMs > 0)
        return {
          kind: 'retry',
          afterMs: waitMs,
          reason: `the web service has failed too often; the next try is in ${Math.ceil(waitMs / 1000)} s`,
        }
      const name = `${deliveryNameOf(delivery)}/${delivery.topicId}/${delivery.partition}/${delivery.from}-${delivery.to}`
      const rows = rowsOf(pieces)
      let range = sent.get(delivery.partition)
      if (range?.name !== name) {
        const offsets = rows.map(({ offset }) => offset)
        const requests = cutRange(offsets, delivery.deadLettered.map(Number), config.batch_size)
        sent.set(delivery.partition, (range = { name, requests, answered: 0 }))
      }
      const faults: RefusedRecord[] = []
      const before = range.answered
      for (const request of range.requests) {
        const failure = await deliver(range, request, rows, faults, signal)
        if (failure) return failure.kind === 'retry' ? { ...failure, hasProgressed: range.answered > before } : failure
      }
      if (faults.length > 0) {
        reopenRefused(range.requests)
        return { kind: 'at_fault', records: faults }
      }
      sent.delete(delivery.partition)
      return { kind: 'delivered' }
    },
    close: () => client.close(),
  }
}
