/** Sends batches of records to a web service as requests, each under an idempotency key that stays the same across retries and crashes. */
import type { Response } from 'undici'
import { reasonOf } from '../../errors/reason-of.ts'
import { createBreaker } from '../breaker.ts'
import type { ConnectorContext } from '../connector.ts'
import { meaningOf, retryAfterMs } from '../http-answers.ts'
import { excerptOf, openHttpClient } from '../http-client.ts'
import { createRangeWriter, type RequestResult, type Row } from '../range-writer.ts'
import { refusalIn } from '../refusal.ts'
import type { OpenSink } from '../sink.ts'
import type { HttpSinkConfig } from './connector.ts'

const RANGE_BYTES = 4 << 20
const RANGE_RECORDS = 10_000
const RANGE_MS = 100
const ANSWER_BYTES_MAX = 64 << 10

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

  async function post(key: string, rows: readonly Row[], signal: AbortSignal): Promise<RequestResult> {
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
    const text = await excerptOf(answer, context)
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

  const writeRange = createRangeWriter(post, config.batch_size)
  return {
    rows: { kind: 'json_lines' },
    boundaries: { bytesMax: RANGE_BYTES, recordsMax: RANGE_RECORDS, intervalMs: RANGE_MS },
    async write(delivery, pieces, signal) {
      const waitMs = breaker.openForMs()
      if (waitMs > 0)
        return {
          kind: 'retry',
          afterMs: waitMs,
          reason: `the web service has failed too often; the next try is in ${Math.ceil(waitMs / 1000)} s`,
        }
      return writeRange(delivery, pieces, signal)
    },
    close: () => client.close(),
  }
}
