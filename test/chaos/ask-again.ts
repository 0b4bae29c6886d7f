/** The harness's own requests to Kafka: a broker that has not answered in time, as on a busy machine, is no finding. */
import type { Cluster } from '../../shared/kafka/cluster.ts'

const TRIES = 6
const PAUSE_MS = 200

/** Asks up to six times, and throws what the last try threw. Only for requests that may be repeated. */
export async function askAgain<T>(ask: () => Promise<T>): Promise<T> {
  for (let left = TRIES - 1; ; left--) {
    try {
      return await ask()
    } catch (error) {
      if (left === 0) throw error
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
    }
  }
}

/** A client whose layouts, offsets and start offsets are asked for again. */
export function patientCluster(cluster: Cluster): Cluster {
  return {
    ...cluster,
    describeTopic: (topic) => askAgain(() => cluster.describeTopic(topic)),
    offsets: (...which) => askAgain(() => cluster.offsets(...which)),
    ensureStartOffsets: (...start) => askAgain(() => cluster.ensureStartOffsets(...start)),
  }
}
