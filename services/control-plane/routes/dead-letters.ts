/** Lists, reads and redrives dead letters. Each call first projects what the topic holds, so that totals are exact. */
import {
  getDeadLetterContract,
  listDeadLetterGroupsContract,
  listDeadLettersContract,
  redriveDeadLettersContract,
} from '../../../shared/api/dead-letters.ts'
import { openValueDecoder } from '../../../shared/codecs/codecs.ts'
import { notFound } from '../service-error.ts'
import { deadLetterId } from '../store/dead-letter-id.ts'
import { findDeadLetter, listDeadLetterGroups, listDeadLetters } from '../store/dead-letters.ts'
import { showDeadLetter } from '../dead-letters/show.ts'
import { shownBytes } from '../shown/bytes.ts'
import { redrive } from '../jobs/redrive.ts'
import type { ListedJob } from '../store/jobs.ts'
import type { PipelineRow } from '../store/pipelines.ts'
import { getPipeline } from './own-pipeline.ts'
import { showJob } from './jobs.ts'
import { listReply } from './list-reply.ts'
import { operation } from './operation.ts'

/** Values are as they came from the source. */
function decoderOf({ definition: { source } }: PipelineRow) {
  return source.kind === 'topic' && source.codec ? openValueDecoder(source.codec) : undefined
}

export const listDeadLettersOperation = operation(listDeadLettersContract, async (deps, caller, { params, query }) => {
  const pipeline = await getPipeline(deps, caller, params.id)
  await deps.deadLetters.catchUp(pipeline)
  const decode = decoderOf(pipeline)
  const page = await listDeadLetters(deps.db, pipeline.id, query)
  const room = shownBytes()
  const reply = listReply('dead_letters', page, query, (row) => showDeadLetter(row, decode, room))
  return page.isCut ? { ...reply, body: { ...reply.body, truncated: true as const } } : reply
})

export const listDeadLetterGroupsOperation = operation(listDeadLetterGroupsContract, async (deps, caller, { params, query }) => {
  const pipeline = await getPipeline(deps, caller, params.id)
  await deps.deadLetters.catchUp(pipeline)
  const groups = await listDeadLetterGroups(deps.db, pipeline.id, query)
  return {
    status: 200,
    body: {
      pipeline_id: pipeline.id,
      groups: groups.map(({ latest, ...group }) => ({ ...group, message: latest.error_message, latest_id: deadLetterId(latest) })),
    },
  }
})

export const getDeadLetterOperation = operation(getDeadLetterContract, async (deps, caller, { params }) => {
  const pipeline = await getPipeline(deps, caller, params.id)
  await deps.deadLetters.catchUp(pipeline)
  const row = await findDeadLetter(deps.db, pipeline.id, params.dead_letter_id)
  if (!row) throw notFound('the dead letter')
  return { status: 200, body: showDeadLetter(row, decoderOf(pipeline)) }
})

export const redriveDeadLettersOperation = operation(redriveDeadLettersContract, async (deps, caller, { params, body }) => {
  const pipeline = await getPipeline(deps, caller, params.id)
  const request = body ?? { dry_run: false }
  const replyOf = (started: ListedJob, records: number) => ({
    status: 202 as const,
    body: { ...showJob(started), count: records },
    headers: { Location: `/jobs/${started.id}` },
  })
  const { count, job } = await redrive(deps, pipeline, request, async (trx, stored, records) =>
    caller.keyed?.keep(trx, replyOf(stored, records)),
  )
  if (!job) return { status: 200, body: { dry_run: request.dry_run, count } }
  return replyOf(job, count)
})
