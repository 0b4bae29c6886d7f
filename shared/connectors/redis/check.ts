/** Connects to Redis, and checks that the key is a stream or does not exist yet. Nothing is read or written. */
import { reasonOf } from '../../errors/reason-of.ts'
import type { CheckConnector, CheckFault } from '../check.ts'
import { ConfigRefused, type ConnectorContext } from '../connector.ts'
import { answerOf, connectRedis, failureOf } from './connection.ts'
import type { RedisPlace } from './connector.ts'

const LOGIN = /\b(WRONGPASS|NOAUTH|AUTH|invalid password)\b/

/** Returns a fault if Redis can't be reached, refuses a command, or has another type at the key. */
export const checkRedis: CheckConnector<RedisPlace> = async (config, context, signal) => {
  const client = await connectRedis(config, context, signal).catch((error: unknown) => connectionFault(error))
  if ('message' in client) return [client]
  try {
    const type = await answerOf(client, client.type(config.stream), signal)
    if (type === 'stream' || type === 'none') return []
    return [{ path: '/stream', message: `is a key of the type ${type}, not a stream` }]
  } catch (error) {
    return [typeFault(error, context)]
  } finally {
    client.disconnect()
  }
}

function connectionFault(error: unknown): CheckFault {
  const message = reasonOf(error)
  if (!(error instanceof ConfigRefused)) return { path: '/url', message: `can't be reached: ${message}` }
  return { path: LOGIN.test(message) ? '/password' : '/url', message }
}

function typeFault(error: unknown, context: ConnectorContext): CheckFault {
  const failure = failureOf(error, context)
  return { path: failure instanceof ConfigRefused ? '/stream' : '/url', message: failure.message }
}
