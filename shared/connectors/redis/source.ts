/** Reads entries of a Redis stream as records. The position is the last entry's id. Only split 0 reads, because ids are one order. */
import type { Redis } from 'ioredis'
import type { ConnectorContext } from '../connector.ts'
import { nextCount, type AnswerSize } from '../next-count.ts'
import { createBlockBuilder } from '../record-block.ts'
import { RECORD_BYTES_MAX, type OpenSource, type SourceRead } from '../source.ts'
import { restAfterNothing } from '../../waiting/after-nothing.ts'
import { answerOf, connectRedis, failureOf } from './connection.ts'
import type { RedisSourceConfig } from './connector.ts'

/** How long one `XREAD` waits for an entry. */
const WAIT_MS = 500
const ENTRIES_FIRST = 1
/** The number of entries requested depends on the size of earlier ones, so that a reply has about this many bytes. */
const ANSWER: AnswerSize = { bytes: 1 << 20, countMax: 1000 }
const FIRST_ID = '0-0'

type Entry = [id: Buffer, fields: Buffer[]]

/** Does not connect yet: each `read` has its own connection, because one that waits for entries can do nothing else. */
export async function openRedisSource(config: RedisSourceConfig, context: ConnectorContext): Promise<OpenSource> {
  const closing = new AbortController()
  return {
    async *read(split, position, _seen, given) {
      if (split.index !== 0) return
      const signal = AbortSignal.any([given, closing.signal])
      let client: Redis | undefined
      try {
        client = await connectRedis(config, context, signal)
        yield* readFrom(client, config, position, signal)
      } catch (error) {
        if (!signal.aborted) throw failureOf(error, context)
      } finally {
        client?.disconnect()
      }
    },
    close: async () => closing.abort(),
  }
}

async function* readFrom(
  client: Redis,
  config: RedisSourceConfig,
  position: string | undefined,
  signal: AbortSignal,
): AsyncGenerator<SourceRead> {
  const builder = createBlockBuilder()
  let after = position ?? FIRST_ID
  if (position === undefined && config.start === 'latest') {
    after = await lastId(client, config.stream, signal)
    // Committed at once, without a record: after a crash, "latest" would be a later id, and the entries in between would be skipped.
    yield { block: builder.take(), position: after }
  }
  let asked = ENTRIES_FIRST
  while (!signal.aborted) {
    const askedAt = performance.now()
    const reading = client.xreadBuffer('COUNT', asked, 'BLOCK', WAIT_MS, 'STREAMS', config.stream, after)
    const entries = (await answerOf(client, reading, signal))?.[0]?.[1] ?? []
    if (entries.length === 0) await restAfterNothing(askedAt, signal)
    let bytes = 0
    for (const [at, entry] of entries.entries()) {
      if (!isEntry(entry)) throw new Error('the answer to XREAD has an entry that is not an id and pairs of field and value')
      const record = recordOf(entry, config.field)
      bytes += entry[1].reduce((sum, part) => sum + part.length, 0)
      after = entry[0].toString('latin1')
      if (record.length <= RECORD_BYTES_MAX) builder.add(null, record)
      else
        builder.refuse(
          'record_too_large',
          `the entry ${after} has ${record.length} bytes; a record may have at most ${RECORD_BYTES_MAX}`,
          record,
        )
      if (builder.bytes < ANSWER.bytes && at < entries.length - 1) continue
      yield { block: builder.take(), position: after }
      if (signal.aborted) return
    }
    asked = nextCount(asked, { count: entries.length, bytes }, ANSWER)
  }
}

/** The driver checks nothing that a server sends. */
function isEntry(entry: unknown): entry is Entry {
  if (!Array.isArray(entry) || !Buffer.isBuffer(entry[0]) || !Array.isArray(entry[1])) return false
  const fields: unknown[] = entry[1]
  return fields.length % 2 === 0 && fields.every((part) => Buffer.isBuffer(part))
}

async function lastId(client: Redis, stream: string, signal: AbortSignal): Promise<string> {
  const [last] = await answerOf(client, client.xrevrange(stream, '+', '-', 'COUNT', 1), signal)
  return last?.[0] ?? FIRST_ID
}

/** The field's value, unchanged. An entry without the field becomes an object of all its fields: nothing is lost, a step can refuse it. */
function recordOf([, fields]: Entry, field: string | undefined): Buffer {
  let record: Buffer | undefined
  for (let at = 0; field !== undefined && at < fields.length; at += 2) if (fields[at]!.toString('utf8') === field) record = fields[at + 1]!
  return record ?? objectOf(fields)
}

function objectOf(fields: Buffer[]): Buffer {
  const members: [string, string][] = []
  for (let at = 0; at < fields.length; at += 2) members.push([fields[at]!.toString('utf8'), fields[at + 1]!.toString('utf8')])
  return Buffer.from(JSON.stringify(Object.fromEntries(members)))
}
