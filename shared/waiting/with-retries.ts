/** Retries for start-up steps: a service may be started before the Kafka or Postgres that it needs. */
import { reasonOf } from '../errors/reason-of.ts'
import type { Logger } from '../telemetry/log.ts'

/** The result of `attempt`, which is repeated until it succeeds, with backoff up to 5 s; logs `what` after each failure. */
export async function withRetries<T>(log: Logger, what: string, attempt: () => Promise<T>): Promise<T> {
  for (let waitMs = 200; ; waitMs = Math.min(waitMs * 2, 5000)) {
    try {
      return await attempt()
    } catch (error) {
      log.warn({ reason: reasonOf(error) }, what)
      await new Promise((resolve) => setTimeout(resolve, waitMs))
    }
  }
}
