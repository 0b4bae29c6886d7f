/** Start-up steps that wait for the parts a service needs: it may be started before its Kafka or Postgres. */
import type { Logger } from './log.ts'

/** Repeats `attempt` for as long as it takes, with backoff up to 5 s, saying what it waits for. */
export async function withRetries<T>(log: Logger, what: string, attempt: () => Promise<T>): Promise<T> {
  for (let waitMs = 200; ; waitMs = Math.min(waitMs * 2, 5000)) {
    try {
      return await attempt()
    } catch (error) {
      log.warn({ reason: error instanceof Error ? error.message : String(error) }, what)
      await new Promise((resolve) => setTimeout(resolve, waitMs))
    }
  }
}
