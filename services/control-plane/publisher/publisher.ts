/** Carries the outbox to `dps.definitions`, in order, one control plane at a time. A crash between send and delete repeats: keys are compacted. */
import type { Producer } from 'kafkajs'
import { deleteOutbox, listOutbox } from '../../../shared/store/pipelines.ts'
import type { Deps } from '../deps.ts'

const IDLE_MS = 500
const ROWS_MAX = 50
const LOCK_ID = 7_002

export function startPublisher(deps: Pick<Deps, 'db' | 'kafka' | 'log'>, topic: string): { poke(): void; close(): Promise<void> } {
  const { db, kafka, log } = deps
  let closed = false
  let wake: (() => void) | undefined
  let producer: Producer | undefined

  async function publishSome(): Promise<number> {
    return db.transaction(async (trx) => {
      const { rows } = await trx.raw('SELECT pg_try_advisory_xact_lock(?) AS mine', [LOCK_ID])
      if (!rows[0]?.mine) return 0
      const waiting = await listOutbox(trx, ROWS_MAX)
      if (waiting.length === 0) return 0
      if (!producer) {
        producer = kafka.producer({ idempotent: true, maxInFlightRequests: 1 })
        await producer.connect()
      }
      for (const { key, value } of waiting) await producer.send({ topic, acks: -1, messages: [{ key, value, partition: 0 }] })
      await deleteOutbox(
        trx,
        waiting.map(({ id }) => id),
      )
      return waiting.length
    })
  }

  const loop = (async () => {
    while (!closed) {
      const published = await publishSome().catch(async (error: unknown) => {
        log.warn({ reason: error instanceof Error ? error.message : String(error) }, 'publisher: will try again')
        // After any error a kafkajs producer is not to be trusted.
        await producer?.disconnect().catch(() => {})
        producer = undefined
        return 0
      })
      if (published > 0) continue
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, IDLE_MS)
        wake = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    }
  })()

  return {
    poke: () => wake?.(),
    async close() {
      closed = true
      wake?.()
      await loop
      await producer?.disconnect().catch(() => {})
    },
  }
}
