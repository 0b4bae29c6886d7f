/**
 * How a range is cut into requests, and the result of each of them. Every process cuts a range the same way: dead letters count too, so
 * that leaving one out moves no border. A request with a refused record is halved until the record is alone.
 */
import type { RefusedRecord } from './sink.ts'

/** The records from the offset `first` to `last`, both included: to be sent unless they were accepted, cut in two, or refused. */
export type Request = {
  first: number
  last: number
  isTaken?: true
  halves?: readonly [Request, Request]
  refused?: RefusedRecord | undefined
}

/**
 * Requests of at most `size` records and rows; a record's rows stay together. `offsets`: those of the rows, in order; `leftOut`: those of
 * records that are not sent any more.
 */
export function cutRange(offsets: readonly number[], leftOut: readonly number[], size: number): Request[] {
  const rows = new Map<number, number>(leftOut.map((offset) => [offset, 1]))
  for (const offset of offsets) rows.set(offset, (rows.get(offset) ?? 0) + 1)
  const requests: Request[] = []
  let [records, rowCount] = [0, 0]
  for (const [offset, count] of [...rows].toSorted(([a], [b]) => a - b)) {
    const current = requests.at(-1)
    if (current && records < size && rowCount + count <= size) {
      current.last = offset
      records++
      rowCount += count
    } else {
      requests.push({ first: offset, last: offset })
      ;[records, rowCount] = [1, count]
    }
  }
  return requests
}

/** Cuts a request of several records in two. `offsets`: those of its rows, in order. */
export function halve(request: Request, offsets: readonly number[]): readonly [Request, Request] {
  const middle = offsets[offsets.length >> 1]!
  // All rows of a record go together: it must not arrive in part when the rest is refused.
  const border = middle === offsets[0] ? offsets.find((offset) => offset !== middle)! : middle
  const before = offsets.findLast((offset) => offset < border)!
  request.halves = [
    { first: request.first, last: before },
    { first: border, last: request.last },
  ]
  return request.halves
}

/** Records whose refusal was reported are sent again, should they come again. */
export function reopenRefused(requests: readonly Request[]): void {
  for (const request of requests) {
    request.refused = undefined
    if (request.halves) reopenRefused(request.halves)
  }
}
