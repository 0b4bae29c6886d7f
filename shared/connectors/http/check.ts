/** Checks that a server responds at the URL, with a HEAD request, which changes nothing. Only 401 and 403 are faults. */
import { reasonOf } from '../../errors/reason-of.ts'
import type { CheckConnector } from '../check.ts'
import { openHttpClient, type HttpSettings } from '../http-client.ts'

/** Asks the web service once, without sending a record. */
export const checkHttp: CheckConnector<HttpSettings & { url: string }> = async (config, context, signal) => {
  const client = openHttpClient({ ...config, timeout_ms: Math.min(config.timeout_ms, 5000) }, context)
  try {
    const answer = await client.request(config.url, { method: 'HEAD' }, signal)
    await answer.body?.cancel()
    return answer.status === 401 || answer.status === 403 ? [{ path: '/auth', message: `the web service answered ${answer.status}` }] : []
  } catch (error) {
    return [{ path: '/url', message: `can't be reached: ${context.mask(reasonOf(error))}` }]
  } finally {
    await client.close()
  }
}
