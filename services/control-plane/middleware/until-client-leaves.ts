/** Workshop jobs of a request whose client may leave. Only for requests that change nothing: others are done to their end. */
import type { Context } from 'koa'
import type { Workshop } from '../workshop/workshop.ts'
import { ServiceError } from '../service-error.ts'

/**
 * The same dependencies, with a workshop whose jobs end when the request's client leaves: an answer that no client reads takes no place.
 */
export function untilClientLeaves<D extends { workshop: Workshop }>(deps: D, { res }: Pick<Context, 'res'>): D {
  const left = new AbortController()
  res.once('close', () => {
    if (!res.writableFinished) left.abort(new ServiceError('conflict', 'the client has left'))
  })
  return { ...deps, workshop: { ...deps.workshop, ...deps.workshop.until(left.signal) } }
}
