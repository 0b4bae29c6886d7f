/** The only middleware that turns errors into responses, always in the contract's envelope. Nothing internal reaches the client. */
import type { Context, Next } from 'koa'
import { INVALID_REQUEST_STATUSES } from '../../../shared/errors/codes.ts'
import { errorEnvelope, invalidRequest, ServiceError, unavailable } from '../service-error.ts'
import { RegistryAway } from '../registry/registry.ts'
import { isDatabaseAway } from '../store/database.ts'
import type { Logger } from '../../../shared/telemetry/log.ts'

/** The part of the service that is unavailable, if that is what a library's error means. */
function awayPart(error: unknown): string | undefined {
  if (error instanceof RegistryAway) return 'the schema registry'
  if (typeof error !== 'object' || error === null) return undefined
  const { name, code, message } = error as { name?: unknown; code?: unknown; message?: unknown }
  if (typeof name === 'string' && name.startsWith('KafkaJS')) return 'Kafka'
  if (name === 'KafkaError' || (typeof code === 'string' && code.startsWith('PLT_KFK_'))) return 'Kafka'
  if (isDatabaseAway(error)) return 'the database'
  if (
    (name === 'TimeoutError' || name === 'TypeError') &&
    typeof message === 'string' &&
    /fetch failed|aborted due to timeout/.test(message)
  )
    return 'the schema registry'
  return undefined
}

/** Maps what body parsers and routers throw: http-errors with a status. */
function fromHttpError(error: unknown): ServiceError | undefined {
  if (typeof error !== 'object' || error === null) return undefined
  const { status, type, code } = error as { status?: unknown; type?: unknown; code?: unknown }
  if (status === INVALID_REQUEST_STATUSES.tooLarge)
    return new ServiceError('invalid_request', 'the body is too large', { status, cause: error, headers: { Connection: 'close' } })
  if (status === INVALID_REQUEST_STATUSES.unsupportedMediaType)
    return new ServiceError('invalid_request', 'the body’s encoding or charset is not supported', { status, cause: error })
  if (typeof code === 'string' && /^(Z_|ERR_BROTLI|ERR__ERROR_|ZSTD_|ERR_ZSTD)/.test(code)) {
    return new ServiceError('invalid_request', 'the body does not decompress as its Content-Encoding says', { cause: error })
  }
  if (type === 'request.aborted' || status === 400)
    return invalidRequest([{ path: '', message: 'the body can’t be read: it is not what its Content-Type and Content-Length say' }], error)
  return undefined
}

/** The error as clients may see it. */
export function toServiceError(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error
  const away = awayPart(error)
  if (away) return unavailable(away, error)
  return (
    fromHttpError(error) ??
    new ServiceError('server_error', 'an internal error occurred; the request id helps us find it', { cause: error })
  )
}

export function errors(log: Logger) {
  return async (ctx: Context, next: Next): Promise<void> => {
    try {
      await next()
    } catch (thrown) {
      // The client disconnected in the middle of its request: no response can be sent, and nothing is wrong here.
      if (ctx.req.destroyed && !ctx.req.complete) return void (ctx.respond = false)
      const error = toServiceError(thrown)
      if (error.status >= 500) {
        const cause = error.cause instanceof Error ? error.cause : thrown
        log[error.status === 500 ? 'error' : 'warn'](
          { request_id: ctx.state.requestId, path: ctx.path, err: cause, internal: error.internal },
          error.message,
        )
      }
      ctx.status = error.status
      ctx.set(error.headers)
      if (!ctx.req.complete) {
        // The rest of the body is discarded, and a further request on this connection would never be read.
        ctx.set('Connection', 'close')
        ctx.req.unpipe()
        ctx.req.resume()
      }
      ctx.body = errorEnvelope(error, ctx.state.requestId)
    }
  }
}
