/**
 * Copies the outbox to `dps.definitions`, in order, one control plane at a time. The lock alone does not fence: a process suspended between
 * reading and sending would overwrite newer definitions later, for good, because the topic is compacted. So a process that takes over
 * initialises the transactional id again (KIP-98), and the broker refuses what the suspended one sends. A crash between send and delete
 * sends records twice, which is harmless: the topic is compacted by key.
 */
import { ADVISORY_LOCKS, limitIdleTime, ping, tryLock } from '../store/locks.ts'
import { reasonOf } from '../../../shared/errors/reason-of.ts'
import { randomUUID } from 'node:crypto'
import type { Producer } from 'kafkajs'
import { deleteOutbox, listOutbox, noteUnpublished, takePublisher, type OutboxRow } from '../store/outbox.ts'
import { noteBinaryUnpublished } from '../store/smartmodules.ts'
import type { Deps } from '../deps.ts'

const IDLE_MS = 500
const ROWS_MAX = 50
/** Of one Kafka transaction: a row may have megabytes, and a slow broker is to end some of them. */
const BYTES_MAX = 8 << 20
/** Postgres ends the transaction of a process suspended for this long, so that another can take over. */
const SLEEP_MS = 15_000

/** The broker says that a record is larger than its topic takes. */
class TooLarge extends Error {
  readonly row: OutboxRow

  constructor(row: OutboxRow, cause: unknown) {
    super('the broker refuses a record as too large', { cause })
    this.row = row
  }
}

/** kafkajs may have put the broker's error into one of its own. */
function isTooLarge(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  return ('type' in error && error.type === 'MESSAGE_TOO_LARGE') || isTooLarge(error.cause)
}

export function startPublisher(
  deps: Pick<Deps, 'db' | 'kafka' | 'log'>,
  topic: string,
  transactionalId: string,
): { notify(): void; close(): Promise<void> } {
  const { db, kafka, log } = deps
  /** Identifies this process: Postgres stores which process published last. */
  const self = randomUUID()
  let closed = false
  let wake: (() => void) | undefined
  let producer: Producer | undefined

  async function forgetProducer(): Promise<void> {
    const before = producer
    producer = undefined
    await before?.disconnect().catch(() => {})
  }

  async function send(by: Producer, rows: readonly OutboxRow[], assertLocked: () => Promise<void>): Promise<void> {
    const sending = await by.transaction()
    try {
      // Fails if the lock was lost before the transactional id was initialised; a process that takes over later fences this one.
      await assertLocked()
      for (const row of rows) {
        const { key, value } = row
        await sending.send({ topic, acks: -1, messages: [{ key, value, partition: 0 }] }).catch((error: unknown) => {
          throw isTooLarge(error) ? new TooLarge(row, error) : error
        })
        // All sends together may take longer than the transaction may stand still.
        await assertLocked()
      }
      await sending.commit()
    } catch (error) {
      await sending.abort().catch(() => {})
      throw error
    }
  }

  /** One record that can't be published must not keep those of all accounts behind it from being. */
  async function setAside({ id, key, value }: OutboxRow): Promise<void> {
    log.error({ key, bytes: value?.length }, 'publisher: a record is larger than the topic of definitions takes; it is left out')
    await db.transaction(async (trx) => {
      await noteUnpublished(trx, key, 'what it runs is larger than the processors can be told: they still run what was before')
      await noteBinaryUnpublished(trx, key)
      await deleteOutbox(trx, [id])
    })
  }

  async function publishSome(): Promise<number> {
    return db.transaction(async (trx) => {
      await limitIdleTime(trx, SLEEP_MS)
      if (!(await tryLock(trx, ADVISORY_LOCKS.publisher))) return 0
      const waiting = await listOutbox(trx, ROWS_MAX, BYTES_MAX)
      if (waiting.length === 0) return 0
      // Another process has published since: initialise the transactional id again, with a new producer, to fence it.
      if (await takePublisher(trx, self)) await forgetProducer()
      if (!producer) {
        producer = kafka.producer({ transactionalId, idempotent: true, maxInFlightRequests: 1 })
        await producer.connect()
      }
      await send(producer, waiting, () => ping(trx))
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
        log.warn({ reason: reasonOf(error) }, 'publisher: will try again')
        // After any error, a kafkajs producer can't be trusted.
        await forgetProducer()
        if (!(error instanceof TooLarge)) return 0
        return setAside(error.row).then(
          () => 1,
          () => 0,
        )
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
    notify: () => wake?.(),
    async close() {
      closed = true
      wake?.()
      await loop
      await forgetProducer()
    },
  }
}
