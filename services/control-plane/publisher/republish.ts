/**
 * Makes the topic of definitions say what Postgres says, after Postgres was restored from a backup, or the topic was lost. What differs
 * goes into the outbox. Processors ignore an earlier revision than they know, so a pipeline that the topic knows a later one of gets a new
 * one.
 */
import { definitionKeys, PipelineDefinition } from '../../../shared/model/definition.ts'
import { isSameJson } from '../../../shared/model/exact-json.ts'
import { parseJson } from '../../../shared/kafka/parse-json.ts'
import { listAccountStates } from '../store/accounts.ts'
import type { Transaction } from '../store/database.ts'
import { listUnfinishedJobIds, lockJob } from '../store/jobs.ts'
import { enqueue, lockDefinitions, REVISIONS_KEPT } from '../store/outbox.ts'
import { listPipelineIds, listRevisions, lockPipeline, type PipelineRow } from '../store/pipelines.ts'
import { listEnvelopes } from '../store/secrets.ts'
import { listBinaries, noteOnlyPublished } from '../store/smartmodules.ts'
import { anew, isPublished, enqueueBinariesOf, enqueueDefinition, storeRevision } from './enqueue.ts'

/** What the topic has: values by key. Of a binary only the key is looked at. */
export type OnTopic = ReadonlyMap<string, Buffer>
/** How many of each kind went into the outbox; `deleted`: what the topic had and Postgres has not. */
export type Republished = Record<'accounts' | 'secrets' | 'pipelines' | 'revisions' | 'jobs' | 'deleted', number>

const BINARY = definitionKeys.smartModule('')

/** What a revision is, apart from its number and from what it is wanted to do. */
const chainOf = (definition: PipelineDefinition): unknown =>
  JSON.parse(JSON.stringify({ ...definition, revision: 0, attempt: 0, desired: 'running' }))

/** Publishes the pipeline unless the topic has the same; false then. */
async function republishPipeline(trx: Transaction, row: PipelineRow, value: Buffer | undefined): Promise<boolean> {
  const { desired, attempt, revision } = row
  const { data: known } = PipelineDefinition.safeParse(value && parseJson(value))
  if (!known) {
    await enqueueDefinition(trx, row)
    return true
  }
  const isSameChain = isSameJson(chainOf(known), chainOf(row.definition))
  if (isSameChain && known.revision === revision && known.attempt === attempt && known.desired === desired) return false
  const isBehind = known.revision > revision || known.attempt > attempt || (known.revision === revision && !isSameChain)
  if (!isBehind) await enqueueDefinition(trx, row)
  else {
    const next = { ...row.definition, revision: Math.max(known.revision, revision) + 1 }
    await storeRevision(trx, row, next, { ...anew(row), attempt: Math.max(known.attempt, attempt) + 1 })
  }
  return true
}

/** Publishes the kept revisions that the topic lacks: a range that one of them has planned waits for it. */
async function republishRevisions(trx: Transaction, { id, revision: newest }: PipelineRow, onTopic: OnTopic): Promise<number> {
  const kept = (await listRevisions(trx, id)).filter(({ revision }) => revision <= newest && revision > newest - REVISIONS_KEPT)
  const missing = kept.filter(({ revision }) => !onTopic.has(definitionKeys.revision(id, revision)))
  for (const { revision, definition } of missing) {
    await enqueueBinariesOf(trx, definition)
    await enqueue(trx, definitionKeys.revision(id, revision), { ...definition, revision })
  }
  return missing.length
}

/** Call in a transaction of its own: nothing else changes definitions until it ends. */
export async function republish(trx: Transaction, onTopic: OnTopic): Promise<Republished> {
  await lockDefinitions(trx)
  const done: Republished = { accounts: 0, secrets: 0, pipelines: 0, revisions: 0, jobs: 0, deleted: 0 }
  /** Keys that the topic is to have, revisions aside. */
  const wanted = new Set<string>()
  for (const [kind, entries] of [
    ['accounts', await listAccountStates(trx)],
    ['secrets', await listEnvelopes(trx)],
  ] as const)
    for (const { key, value } of entries) {
      wanted.add(key)
      const known = onTopic.get(key)
      if (known && isSameJson(parseJson(known), value)) continue
      await enqueue(trx, key, value)
      done[kind]++
    }
  for (const sha256 of await listBinaries(trx)) wanted.add(`${BINARY}${sha256}`)
  await noteOnlyPublished(
    trx,
    [...onTopic.keys()].filter((key) => key.startsWith(BINARY)).map((key) => key.slice(BINARY.length)),
  )
  for (const id of await listPipelineIds(trx)) {
    const row = await lockPipeline(trx, id)
    if (!row || !isPublished(row)) continue
    const key = definitionKeys.pipeline(id)
    wanted.add(key)
    done.revisions += await republishRevisions(trx, row, onTopic)
    if (await republishPipeline(trx, row, onTopic.get(key))) done.pipelines++
  }
  for (const id of await listUnfinishedJobIds(trx)) {
    const row = await lockJob(trx, id)
    if (!row) continue
    const key = definitionKeys.job(id)
    wanted.add(key)
    if (onTopic.has(key)) continue
    await enqueueBinariesOf(trx, row.definition)
    await enqueue(trx, key, { ...row.definition, desired: row.status === 'cancelling' ? 'stopped' : 'running' })
    done.jobs++
  }
  for (const key of onTopic.keys()) {
    const [kind, id = ''] = key.split('/')
    if (wanted.has(kind === 'revision' ? definitionKeys.pipeline(id) : key)) continue
    await enqueue(trx, key, null)
    done.deleted++
  }
  return done
}
