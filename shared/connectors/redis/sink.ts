/** Records as entries of a Redis stream: appended by a script that moves the position with them, so that each is there exactly once. */
import type { Redis } from 'ioredis'
import { ConfigRefused, type ConnectorContext } from '../connector.ts'
import type { Delivery, OpenSink, Rows, Written } from '../sink.ts'
import { chunksOf, type Chunk } from './chunks.ts'
import { answerOf, connectRedis, failureOf, isAnswer } from './connection.ts'
import type { RedisSinkConfig } from './connector.ts'
import {
  APPEND_SCRIPT,
  placeField,
  POSITION_SCRIPT,
  positionsKey,
  printAppended,
  printState,
  readState,
  type Appended,
  type KeptState,
} from './positions.ts'

const WRITE_LIMIT_MS = 60_000

/** Throws ConfigRefused where Redis refuses the login. */
export async function openRedisSink(config: RedisSinkConfig, context: ConnectorContext): Promise<OpenSink> {
  const closing = new AbortController()
  let current: Promise<Redis> | undefined

  const forget = (opening: Promise<Redis>) => void (current === opening && (current = undefined))

  /** The one connection, which partitions share; a new one where it has ended. */
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
      // Given up: the driver goes on calling it ready until the other side has heard of it.
      if (!isAnswer(error)) forget(opening)
      throw error
    }
  }

  /** Undefined, or the state that was found where the one expected is not. */
  async function append(delivery: Delivery, before: Appended | undefined, chunk: Chunk, signal: AbortSignal): Promise<unknown> {
    const { lines, appended, isLast } = chunk
    // A range that is shorter than the one before leaves some rows behind its end that are there already.
    const after = !isLast || (appended && BigInt(appended.offset) >= delivery.to) ? appended : undefined
    const parameters = [
      config.stream,
      positionsKey(delivery.runId),
      placeField(delivery),
      String(delivery.from),
      String(delivery.revision),
      printAppended(before),
      String(isLast ? delivery.to : delivery.from),
      printAppended(after),
      isLast ? '1' : '0',
      isLast ? delivery.note : '',
      config.field,
      config.max_length === undefined ? '' : String(config.max_length),
      lines,
    ]
    return ask((client) => client.eval(APPEND_SCRIPT, 2, ...parameters), signal)
  }

  async function write(delivery: Delivery, rows: readonly Rows[], signal: AbortSignal): Promise<Written> {
    let appended: Appended | undefined
    for (;;) {
      let found: unknown = null
      for (const chunk of chunksOf(rows, appended)) {
        found = await append(delivery, appended, chunk, signal)
        if (found !== null) break
        appended = chunk.appended
      }
      if (found === null) return { kind: 'delivered' }
      if (found === '') return { kind: 'moved', reason: 'Redis keeps no position any more' }
      const state: KeptState = readState(found)
      if (state.nextOffset !== delivery.from || state.revision > delivery.revision)
        return { kind: 'moved', reason: `the position in Redis is ${state.nextOffset} (revision ${state.revision}), not ${delivery.from}` }
      // A delivery that was cut off had come so far: go on behind it.
      appended = state.appended
    }
  }

  await connected()
  return {
    rows: { kind: 'json_lines' },
    async position({ runId, topicId, partition, revision, resetAt }, start) {
      try {
        const parameters = [
          positionsKey(runId),
          placeField({ topicId, partition }),
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
