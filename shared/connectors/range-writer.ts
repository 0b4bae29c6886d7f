/**
 * Writes a range of records as requests of several records each, for services that take or refuse a request whole. A range is planned
 * before it is sent, and every process cuts it into the same requests, so that a request's key stays the same across retries and crashes.
 * If a range fails in the middle, this process remembers each request's result: what was accepted is not resent, and a refused record is
 * not searched for again. After a crash the range is sent again, under the same keys: at least once.
 */
import { cutRange, halve, reopenRefused, type Request } from './range-requests.ts'
import { deliveryNameOf, type OpenSink, type RefusedRecord, type Rows, type Written } from './sink.ts'

/** An encoded record, or one of the several rows of one: `bytes` from `start` to `end`. */
export type Row = { bytes: Uint8Array; start: number; end: number; offset: number }

/** What the service made of a request: `refused` is of its records, and costs those at fault alone; `permanent` is of the pipeline. */
export type RequestResult =
  | { kind: 'taken' }
  | { kind: 'refused'; code: string; message: string }
  | Exclude<Written, { kind: 'delivered' | 'at_fault' }>

/** Sends rows as one request, whose key stays the same whenever it is sent again. */
export type SendRequest = (key: string, rows: readonly Row[], signal: AbortSignal) => Promise<RequestResult>

/** A planned range and its requests; how many of them were accepted, or refused for their records. */
type Range = { name: string; requests: Request[]; answered: number }

/** The `write` of a sink whose rows are JSON lines. `size`: records and rows in a request, at most; a record's rows stay together. */
export function createRangeWriter(send: SendRequest, size: number): OpenSink['write'] {
  /** By partition. */
  const sent = new Map<number, Range>()

  /** Sends what is left of a request. If it is refused, sends each half, until the records at fault are alone. */
  async function deliver(
    range: Range,
    request: Request,
    rows: readonly Row[],
    faults: RefusedRecord[],
    signal: AbortSignal,
  ): Promise<Exclude<RequestResult, { kind: 'taken' | 'refused' }> | undefined> {
    if (request.isTaken) return undefined
    if (request.refused) {
      faults.push(request.refused)
      return undefined
    }
    const own = within(rows, request)
    const [first, last] = [own[0], own.at(-1)]
    if (!first || !last) return undefined
    if (!request.halves) {
      const answer = await send(`${range.name}/${first.offset}-${last.offset}/${own.length}`, own, signal)
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

  return async (delivery, pieces, signal) => {
    const name = `${deliveryNameOf(delivery)}/${delivery.topicId}/${delivery.partition}/${delivery.from}-${delivery.to}`
    const rows = rowsOf(pieces)
    let range = sent.get(delivery.partition)
    if (range?.name !== name) {
      const offsets = rows.map(({ offset }) => offset)
      const requests = cutRange(offsets, delivery.deadLettered.map(Number), size)
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
  }
}

function rowsOf(pieces: readonly Rows[]): Row[] {
  return pieces.flatMap(({ bytes, ends, offsets, count }) =>
    Array.from({ length: count }, (_, row) => ({ bytes, start: row === 0 ? 0 : ends[row - 1]!, end: ends[row]!, offset: offsets[row]! })),
  )
}

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
