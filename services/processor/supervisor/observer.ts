/** Reports this processor's tasks to the control plane on `dps.observed`: changes at once, progress every two seconds. */
import type { Cluster } from '../../../shared/kafka/cluster.ts'
import { appendRecords, firstBatch } from '../../../shared/kafka/append.ts'
import { KafkaError } from '../../../shared/kafka/kafka-error.ts'
import { KAFKA_ERRORS } from '../../../shared/kafka/wire/error-codes.ts'
import { cpuUseKey, keyOfReport, type CpuUse, type ObservedTask } from '../../../shared/model/observed.ts'
import { singleRun } from './single-run.ts'

export type Observer = { /** Something changed: publish soon. */ notify(): void; close(): Promise<void> }

const PROGRESS_MS = 2000
const SOON_MS = 50
/** Every report is sent again after this time, for a control plane that could not read it, or has lost it. */
const ANEW_MS = 300_000
const CPU_USE_MS = 60_000

/** `task`: the report that it was made of; undefined for CPU use. */
type Report = { key: string; fingerprint: string; value: Buffer; task?: ObservedTask }

const valueOf = (report: ObservedTask | CpuUse): Buffer => Buffer.from(JSON.stringify(report))
/** What fits where the whole report does not: how the task is, and why, without what grows with partitions and steps. */
const shortOf = (task: ObservedTask): Buffer => valueOf({ ...task, quarantined: [], measures: [], partitions: [] })
const isTooLarge = (error: unknown): boolean => error instanceof KafkaError && error.code === KAFKA_ERRORS.messageTooLarge

export function openObserver(
  cluster: Cluster,
  topic: string,
  collect: () => ObservedTask[],
  /** CPU seconds by account, reported once a minute. */
  cpuUse: () => CpuUse[],
  now: () => number,
  onError: (error: Error) => void,
): Observer {
  const connections = cluster.openConnections('observer')
  /** By key, the last published report without its time: an unchanged task is not reported again. */
  const published = new Map<string, string>()
  let cpuUseAt = performance.now() + CPU_USE_MS
  let anewAt = performance.now() + ANEW_MS
  let soon: NodeJS.Timeout | undefined

  async function publish(): Promise<void> {
    const waiting: Report[] = []
    const failures: unknown[] = []
    const keys = new Set<string>()
    if (performance.now() >= anewAt) {
      anewAt = performance.now() + ANEW_MS
      published.clear()
    }
    for (const task of collect()) {
      const key = keyOfReport(task)
      keys.add(key)
      const fingerprint = JSON.stringify({ ...task, at: '' })
      if (published.get(key) !== fingerprint) waiting.push({ key, fingerprint, value: valueOf(task), task })
    }
    if (performance.now() >= cpuUseAt) {
      cpuUseAt = performance.now() + CPU_USE_MS
      for (const use of cpuUse()) waiting.push({ key: cpuUseKey(use), fingerprint: '', value: valueOf(use) })
    }
    for (const key of published.keys()) if (!keys.has(key)) published.delete(key)
    while (waiting.length > 0) {
      const part = waiting.splice(0, firstBatch(waiting).length)
      // Reports of other accounts are behind one that is refused.
      await send(part).catch((error: unknown) => failures.push(error))
    }
    if (failures.length > 0) throw failures[0]
  }

  async function send(part: Report[]): Promise<void> {
    try {
      await appendRecords(cluster, connections, topic, part, now())
    } catch (error) {
      if (!isTooLarge(error)) throw error
      if (part.length === 1) return sendShort(part[0]!, error)
      const refused = await Promise.allSettled(part.map((each) => send([each])))
      for (const each of refused) if (each.status === 'rejected') throw each.reason
      return
    }
    for (const { key, fingerprint } of part) if (fingerprint !== '') published.set(key, fingerprint)
  }

  /** The whole report is not sent again until it changes: the broker would refuse it every time. */
  async function sendShort({ key, fingerprint, task }: Report, error: unknown): Promise<never> {
    if (!task) throw error
    published.set(key, fingerprint)
    await appendRecords(cluster, connections, topic, [{ key, value: shortOf(task) }], now()).catch((failure: unknown) => {
      if (!isTooLarge(failure)) published.delete(key)
      throw failure
    })
    throw new Error(`the report ${key} is larger than ${topic} takes, and was sent without its partitions`, { cause: error })
  }

  const { run, last } = singleRun(publish, onError)
  const timer = setInterval(() => void run(), PROGRESS_MS)

  return {
    notify() {
      soon ??= setTimeout(() => {
        soon = undefined
        void run()
      }, SOON_MS)
    },
    async close() {
      clearInterval(timer)
      clearTimeout(soon)
      await last()
      await connections.close().catch(() => {})
    },
  }
}
