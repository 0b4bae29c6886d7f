/** Writes records as entries of a Redis stream. One script appends them and moves the position, so that each is there exactly once. */
import type { Redis } from 'ioredis'
import { ConfigRefused, type ConnectorContext } from '../connector.ts'
import type { Delivery, OpenSink, Rows, Written } from '../sink.ts'
import { chunksOf, type Chunk } from './chunks.ts'
import { answerOf, connectRedis, failureOf, isSpent } from './connection.ts'
import type { RedisSinkConfig } from './connector.ts'
import {
  APPEND_SCRIPT,
  appendedAnswer,
  positionField,
  POSITION_SCRIPT,
  positionsKey,
  printAppended,
  printState,
  readState,
  type Appended,
  type KeptState,
} from './positions.ts'

const WRITE_LIMIT_MS = 60_000
/** How often what is found may be another state than was expected: an interrupted try leaves one, a failover perhaps another. */
const TRIES_MAX = 5

/** Throws ConfigRefused if Redis refuses the login. */
export async function openRedisSink(config: RedisSinkConfig, context: ConnectorContext): Promise<OpenSink> {
  const closing = new AbortController()
  let current: Promise<Redis> | undefined

  const forget = (opening: Promise<Redis>) => void (current === opening && (current = undefined))

  /** The one connection that all partitions share; a new one if it has ended. */
  function connected(): Promise<Redis> {
    if (current) return current
    const opening = connectRedis(config, context, closing.signal)
    current = opening
    opening.then(
      (client) => client.once('close', () => forget(opening)),
      () => forget(opening),
    )
    return opening
  }

  async function ask(command: (client: Redis) => Promise<unknown>, signal: AbortSignal): Promise<unknown> {
    const opening = connected()
    const client = await opening
    try {
      return await answerOf(client, command(client), signal)
    } catch (error) {
      // The connection is closed, but the driver calls it ready until the server has closed it too.
      if (isSpent(error)) forget(opening)
      throw error
    }
  }

  /** Returns undefined, or the state that was found instead of the expected one. */
  async function append(delivery: Delivery, before: Appended | undefined, chunk: Chunk, signal: AbortSignal): Promise<unknown> {
    const { lines, appended, isLast } = chunk
    const nextOffset = isLast ? delivery.to : delivery.from
    // If this range is shorter than at an earlier try, rows after its end may be in the stream already.
    const after = !isLast || (appended && BigInt(appended.offset) >= delivery.to) ? appended : undefined
    const parameters = [
      config.stream,
      positionsKey(delivery.runId),
      positionField(delivery),
      String(delivery.from),
      String(delivery.revision),
      printAppended(before),
      String(nextOffset),
      printAppended(after),
      isLast ? '1' : '0',
      isLast ? delivery.note : '',
      config.field,
      config.max_length === undefined ? '' : String(config.max_length),
      lines,
    ]
    const answer = await ask((client) => client.eval(APPEND_SCRIPT, 2, ...parameters), signal)
    if (answer === null) throw new Error('there was no answer to the script')
    return answer === appendedAnswer(nextOffset, after) ? undefined : answer
  }

  async function write(delivery: Delivery, rows: readonly Rows[], signal: AbortSignal): Promise<Written> {
    let appended: Appended | undefined
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      let found: unknown
      for (const chunk of chunksOf(rows, appended)) {
        found = await append(delivery, appended, chunk, signal)
        if (found !== undefined) break
        appended = chunk.appended
      }
      if (found === undefined) return { kind: 'delivered' }
      if (found === '') return { kind: 'moved', reason: 'the position in Redis is gone' }
      const state: KeptState = readState(found)
      if (state.nextOffset !== delivery.from || state.revision > delivery.revision)
        return { kind: 'moved', reason: `the position in Redis is ${state.nextOffset} (revision ${state.revision}), not ${delivery.from}` }
      // An interrupted try has appended this much: continue after it.
      appended = state.appended
    }
    throw new Error(`the position in Redis stayed at ${delivery.from} through ${TRIES_MAX} tries to move it`)
  }

  await connected()
  return {
    rows: { kind: 'json_lines' },
    async position({ runId, topicId, partition, revision, resetAt }, start) {
      try {
        const parameters = [
          positionsKey(runId),
          positionField({ topicId, partition }),
          printState({ ...start, revision, appended: undefined }),
          String(resetAt),
        ]
        const { nextOffset, note } = readState(await ask((client) => client.eval(POSITION_SCRIPT, 1, ...parameters), closing.signal))
        return { nextOffset, note }
      } catch (error) {
        throw failureOf(error, context)
      }
    },
    async write(delivery, rows, signal) {
      try {
        return await write(delivery, rows, AbortSignal.any([signal, closing.signal, AbortSignal.timeout(WRITE_LIMIT_MS)]))
      } catch (error) {
        const failure = failureOf(error, context)
        if (failure instanceof ConfigRefused) return { kind: 'permanent', reason: failure.message }
        return { kind: 'retry', afterMs: 0, reason: failure.message }
      }
    },
    async close() {
      closing.abort()
      await current?.then(
        (client) => client.disconnect(),
        () => {},
      )
    },
  }
}

/** Removes the run's positions. */
export async function disposeRedisSink(config: RedisSinkConfig, context: ConnectorContext): Promise<void> {
  const { signal } = new AbortController()
  const client = await connectRedis(config, context, signal)
  try {
    await answerOf(client, client.del(positionsKey(context.runId)), signal)
  } catch (error) {
    throw failureOf(error, context)
  } finally {
    client.disconnect()
  }
}
