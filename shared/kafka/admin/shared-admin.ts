/** One kafkajs admin client for many callers. */
import type { Kafka } from 'kafkajs'
import type { KafkaAdmin } from './admin.ts'

/** An admin client that is connected on first use, and replaced after an error. */
export type SharedAdmin = {
  /** The result of `work`; throws what it throws, or what connecting throws. */
  during<T>(work: (admin: KafkaAdmin) => Promise<T>): Promise<T>
  /** Disconnects; `during` must not be called again. */
  close(): Promise<void>
}

type Client = { admin: KafkaAdmin; connecting: Promise<void>; uses: number; isReplaced: boolean }

/** Opens no connection yet. */
export function openSharedAdmin(kafka: Pick<Kafka, 'admin'>): SharedAdmin {
  let current: Client | undefined

  function open(): Client {
    const admin = kafka.admin()
    return { admin, connecting: admin.connect(), uses: 0, isReplaced: false }
  }

  const disconnect = ({ admin }: Client): Promise<void> => admin.disconnect().catch(() => {})

  return {
    async during(work) {
      const client = (current ??= open())
      client.uses++
      try {
        await client.connecting
        return await work(client.admin)
      } catch (error) {
        client.isReplaced = true
        if (current === client) current = undefined
        throw error
      } finally {
        // Not earlier: others may be in the middle of their work, and would fail with whatever a disconnected client throws.
        if (--client.uses === 0 && client.isReplaced) void disconnect(client)
      }
    },
    async close() {
      if (current) await disconnect(current)
    },
  }
}
