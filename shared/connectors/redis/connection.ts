/** One connection to the Redis server of a config: with checked addresses, a login, and a time limit for each command. */
import { reasonOf } from '../../errors/reason-of.ts'
import { Redis } from 'ioredis'
import { ConfigRefused, type ConnectorContext } from '../connector.ts'
import { addressGuardOf } from '../address-guard.ts'
import { refusalIn } from '../refusal.ts'
import { untilAborted } from '../../waiting/until-aborted.ts'
import type { RedisPlace } from './connector.ts'

const CONNECT_LIMIT_MS = 5000
const COMMAND_LIMIT_MS = 10_000
const DEFAULT_PORT = 6379

/** Redis errors that no retry fixes: login, rights, a key of another type, a cluster, a server without streams. */
const FINAL =
  /^(WRONGPASS|NOAUTH|NOPERM|WRONGTYPE|MOVED|CROSSSLOT|ERR (AUTH|invalid password|invalid DB index|DB index is out of range|unknown command))|\b(WRONGTYPE|ACL failure|can't run this command)\b/

/** Answers of a server that is not the primary now: its name may mean another one by the time of the next try. */
const ELSEWHERE = /\b(READONLY|LOADING|MASTERDOWN)\b/

const messageOf = (error: unknown): string => reasonOf(error)

/** Whether Redis replied with an error: the connection can still be used for the next command. */
const isAnswer = (error: unknown): error is Error => error instanceof Error && error.name === 'ReplyError'

/** Whether the connection is of no use for another try: it is closed, or leads to a server that can't help. */
export const isSpent = (error: unknown): boolean => !isAnswer(error) || ELSEWHERE.test(error.message)

/** The error to throw: ConfigRefused if permanent, else an Error; never the driver's own, which carries the command's arguments. */
export function failureOf(error: unknown, context: ConnectorContext): Error {
  if (error instanceof ConfigRefused) return error
  const message = context.mask(messageOf(error))
  if (refusalIn(error)) return new ConfigRefused(message)
  return isAnswer(error) && FINAL.test(error.message) ? new ConfigRefused(`Redis refuses: ${message}`) : new Error(`Redis: ${message}`)
}

/** Waits for a reply until a time limit or an abort. Then the connection is closed, because its next reply would be this one. */
export async function answerOf<T>(client: Redis, asked: Promise<T>, signal: AbortSignal, limitMs = COMMAND_LIMIT_MS): Promise<T> {
  let giveUp: (() => void) | undefined
  let timer: NodeJS.Timeout | undefined
  const ended = new Promise<never>((_, reject) => {
    giveUp = () => reject(new Error('stopped'))
    timer = setTimeout(() => reject(new Error(`no answer within ${limitMs} ms`)), limitMs)
    if (signal.aborted) giveUp()
    else signal.addEventListener('abort', giveUp, { once: true })
  })
  try {
    return await Promise.race([asked, ended])
  } catch (error) {
    if (isSpent(error)) client.disconnect()
    throw error
  } finally {
    clearTimeout(timer)
    if (giveUp) signal.removeEventListener('abort', giveUp)
  }
}

/** The address to connect to: a name is resolved here, once, so that the address checked is the address connected to. */
async function addressOf(host: string, context: ConnectorContext, signal: AbortSignal): Promise<string> {
  const bare = host.replace(/^\[|\]$/g, '')
  const guard = addressGuardOf(context.defaults.addresses)
  return guard ? untilAborted(signal, guard.resolve(bare)) : bare
}

/**
 * Connects, logs in and waits for a PONG. The driver never reconnects by itself: it would resolve the name again, unchecked, and resend
 * commands that may have been executed. Throws ConfigRefused for errors that no retry fixes.
 */
export async function connectRedis(config: RedisPlace, context: ConnectorContext, signal: AbortSignal): Promise<Redis> {
  const url = new URL(config.url)
  const limited = AbortSignal.any([signal, AbortSignal.timeout(2 * CONNECT_LIMIT_MS)])
  let client: Redis | undefined
  let reason: Error | undefined
  try {
    // Throws a plain error, so a temporary one, if the account has no such secret: it may be created again.
    const password = config.password && context.secret(config.password)
    const host = await addressOf(url.hostname, context, limited)
    client = new Redis({
      host,
      port: url.port === '' ? DEFAULT_PORT : Number(url.port),
      ...(url.protocol === 'rediss:' ? { tls: url.hostname === host ? {} : { servername: url.hostname } } : {}),
      protocol: 2,
      lazyConnect: true,
      connectTimeout: CONNECT_LIMIT_MS,
      retryStrategy: () => null,
      maxRetriesPerRequest: 0,
      autoResendUnfulfilledCommands: false,
      enableReadyCheck: false,
      disableClientInfo: true,
    })
    client.on('error', (error) => (reason = error))
    await answerOf(client, client.connect(), limited)
    // The login is not left to the driver, which continues after a failed one.
    if (password !== undefined)
      await answerOf(client, config.username ? client.auth(config.username, password) : client.auth(password), limited)
    const database = Number(url.pathname.slice(1))
    if (database !== 0) await answerOf(client, client.select(database), limited)
    await answerOf(client, client.ping(), limited)
    return client
  } catch (error) {
    client?.disconnect()
    throw failureOf(isAnswer(error) ? error : (reason ?? error), context)
  }
}
