/**
 * Passes lines from runners on to the logs topic, at a rate that no pipeline can exceed: a burst, and so many lines per second after it.
 * Lines are for reading: what can't be written after a while is dropped, and counted in the next line of its pipeline.
 */
import { appendRecords, firstBatch } from '../../../shared/kafka/append.ts'
import type { Cluster } from '../../../shared/kafka/cluster.ts'
import { runIdOf, type PipelineDefinition } from '../../../shared/model/definition.ts'
import type { LogEntry, LogLine } from '../../../shared/model/logs.ts'
import { createLineRate, type LineRate } from '../line-rate.ts'
import { singleRun } from './single-run.ts'

export type LogRelay = { add(definition: PipelineDefinition, lines: readonly LogLine[]): void; close(): Promise<void> }

const BURST = 200
const LINES_PER_SECOND = 20
const SEND_MS = 200
/** Lines of all pipelines that may wait while Kafka can't be written. */
const WAITING_MAX = 5000
/** Pipelines whose rate is known; beyond that all are forgotten, which allows each another burst. */
const RATES_MAX = 10_000

export function openLogRelay(
  cluster: Cluster,
  topic: string,
  processorId: string,
  now: () => number,
  onError: (error: Error) => void,
): LogRelay {
  const connections = cluster.openConnections('logs')
  /** By pipeline. */
  const rates = new Map<string, LineRate>()
  let waiting: { key: string; value: Buffer }[] = []

  function rateOf(pipelineId: string): LineRate {
    let rate = rates.get(pipelineId)
    if (!rate) {
      if (rates.size >= RATES_MAX) rates.clear()
      rates.set(pipelineId, (rate = createLineRate(BURST, LINES_PER_SECOND)))
    }
    return rate
  }

  const sending = singleRun(async () => {
    while (waiting.length > 0) {
      const part = firstBatch(waiting)
      await appendRecords(cluster, connections, topic, part, now())
      waiting = waiting.slice(part.length)
    }
  }, onError)
  const timer = setInterval(() => void sending.run(), SEND_MS)

  return {
    add(definition, lines) {
      const key = definition.pipeline_id
      const rate = rateOf(key)
      const run = runIdOf(definition)
      for (const line of lines) {
        const all = rate.take(line.dropped, waiting.length < WAITING_MAX)
        if (all === undefined) continue
        const entry: LogEntry = {
          ...line,
          processor_id: processorId,
          ...(run === key ? {} : { job_id: run }),
          ...(all > 0 ? { dropped: all } : {}),
        }
        waiting.push({ key, value: Buffer.from(JSON.stringify(entry)) })
      }
    },
    async close() {
      clearInterval(timer)
      await sending.last()
      await connections.close().catch(() => {})
    },
  }
}
