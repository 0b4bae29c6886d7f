/** The harness's own requests to Kafka: a broker that has not answered in time, as on a busy machine, is no finding. */
import type { Cluster } from '../../shared/kafka/cluster.ts'

/** Longer than a broker that stood still takes until it leads its partitions again: a missed heartbeat fences it (KIP-631). */
const ASK_FOR_MS = 30_000
const PAUSE_MS = 200

/** Asks again for up to 30 s, and throws what the last try threw. Only for requests that may be repeated. */
export async function askAgain<T>(ask: () => Promise<T>): Promise<T> {
  for (const deadline = Date.now() + ASK_FOR_MS; ;) {
    try {
      return await ask()
    } catch (error) {
      if (Date.now() > deadline) throw error
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
