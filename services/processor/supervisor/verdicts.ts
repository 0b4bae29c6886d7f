/**
 * Pipelines that have ended their runner again and again: they have failed, and no other processor takes them. A verdict is a record on
 * `dps.fleet`, for that revision and attempt only.
 */
import { z } from 'zod'
import { errorOf } from '../../../shared/errors/reason-of.ts'
import { appendRecords } from '../../../shared/kafka/append.ts'
import type { Cluster } from '../../../shared/kafka/cluster.ts'
import { parseJson } from '../../../shared/kafka/parse-json.ts'
import { followTopic } from '../../../shared/kafka/follow.ts'
import { runIdOf, type PipelineDefinition } from '../../../shared/model/definition.ts'

const Verdict = z.object({ run_id: z.string(), revision: z.number(), attempt: z.number(), reason: z.string() })
type Verdict = z.infer<typeof Verdict>

export type Verdicts = {
  /** Why the run has failed; undefined when it has not, or for another revision or attempt. */
  of(definition: PipelineDefinition): string | undefined
  fail(definition: PipelineDefinition, reason: string): void
  /** Forgets the runs that are not known any more, and writes what could not be written so far. */
  update(isKnown: (runId: string) => boolean): void
  caughtUp: Promise<void>
  close(): Promise<void>
}

const KEY = 'verdict/'

export function openVerdicts(
  cluster: Cluster,
  topic: string,
  now: () => number,
  onChange: () => void,
  onError: (error: Error) => void,
): Verdicts {
  const verdicts = new Map<string, Verdict>()
  const connections = cluster.openConnections('verdicts')
  const following = followTopic({
    cluster,
    topic,
    purpose: 'verdicts',
    from: 0n,
    onRecords(records) {
      for (const { key, value } of records) {
        if (!key.startsWith(KEY)) continue
        const verdict = Verdict.safeParse(parseJson(value))
        if (verdict.success) verdicts.set(verdict.data.run_id, verdict.data)
        else verdicts.delete(key.slice(KEY.length))
      }
      onChange()
    },
    onError,
  })
  /** By run; null for a tombstone. */
  const unwritten = new Map<string, Buffer | null>()
  let isWriting = false

  function write(): void {
    if (isWriting || unwritten.size === 0) return
    isWriting = true
    const entries = [...unwritten].map(([runId, value]) => ({ key: `${KEY}${runId}`, value }))
    appendRecords(cluster, connections, topic, entries, now())
      .then(() => {
        for (const { key, value } of entries) {
          const runId = key.slice(KEY.length)
          if (unwritten.get(runId) === value) unwritten.delete(runId)
        }
      })
      .catch((error: unknown) => onError(errorOf(error)))
      .finally(() => (isWriting = false))
  }

  return {
    caughtUp: following.caughtUp,
    of(definition) {
      const found = verdicts.get(runIdOf(definition))
      return found?.revision === definition.revision && found.attempt === definition.attempt ? found.reason : undefined
    },
    fail(definition, reason) {
      const { revision, attempt } = definition
      const verdict: Verdict = { run_id: runIdOf(definition), revision, attempt, reason }
      verdicts.set(verdict.run_id, verdict)
      unwritten.set(verdict.run_id, Buffer.from(JSON.stringify(verdict)))
      write()
    },
    update(isKnown) {
      for (const runId of [...verdicts.keys()].filter((each) => !isKnown(each))) {
        verdicts.delete(runId)
        unwritten.set(runId, null)
      }
      write()
    },
    async close() {
      await following.close()
      await connections.close().catch(() => {})
    },
  }
}
