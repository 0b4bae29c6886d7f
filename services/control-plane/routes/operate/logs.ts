/** A pipeline's log: its newest lines, and with `follow` those that come. */
import type { z } from 'zod'
import { getLogsContract, type LogsQuery, type PipelineLog } from '../../../../shared/api/logs.ts'
import type { Listener } from '../../../../shared/api/operation.ts'
import { LOG_LEVELS } from '../../../../shared/model/telemetry.ts'
import type { Line, LogBook } from '../../logs/log-book.ts'
import { getPipeline } from '../get-pipeline.ts'
import { operation } from '../operation.ts'

type Query = z.output<typeof LogsQuery>

function isWanted({ entry }: Line, { level = 'debug', step, since }: Query): boolean {
  if (LOG_LEVELS.indexOf(entry.level) < LOG_LEVELS.indexOf(level)) return false
  if (step !== undefined && (entry.step ?? 0) !== step) return false
  return since === undefined || Date.parse(entry.at) >= Date.parse(since)
}

function show({ offset, entry }: Line): z.input<typeof PipelineLog> {
  const { processor_id: _, ...line } = entry
  return { id: String(offset), ...line }
}

/** Sends the newest lines, or those after the one that the client saw last, and then each that comes. */
function follow(logs: LogBook, pipelineId: string, query: Query) {
  return ({ send, lastEventId, signal }: Listener<(typeof getLogsContract)['events']>): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const seen = lastEventId !== undefined && /^\d{1,18}$/.test(lastEventId) ? BigInt(lastEventId) : undefined
    const earlier = logs.linesOf(pipelineId).filter((line) => isWanted(line, query) && (seen === undefined || line.offset > seen))
    const pass = (line: Line) => void send('log', show(line), String(line.offset))
    for (const line of seen === undefined ? earlier.slice(-query.limit) : earlier) pass(line)
    const stop = logs.listen(pipelineId, (line) => {
      if (isWanted(line, query)) pass(line)
    })
    signal.addEventListener('abort', () => {
      stop()
      resolve()
    })
    return promise
  }
}

export const getLogs = operation(getLogsContract, async (deps, caller, { params, query }) => {
  const { id } = await getPipeline(deps, caller, params.id)
  if (query.follow === 'true') return { status: 200, events: follow(deps.logs, id, query) }
  const found = deps.logs.linesOf(id).filter((line) => isWanted(line, query))
  return { status: 200, body: { pipeline_id: id, logs: found.slice(-query.limit).map(show) } }
})
