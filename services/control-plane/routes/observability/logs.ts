/** A pipeline's log: its newest lines, and with `follow` those that come. */
import type { z } from 'zod'
import { getPipelineLogsContract, type LogsQuery, type PipelineLog } from '../../../../shared/api/logs.ts'
import type { Listener } from '../../../../shared/api/contract.ts'
import { LOG_LEVELS } from '../../../../shared/model/telemetry.ts'
import type { Line, LogBook } from '../../logs/log-book.ts'
import { isPipelineKept } from '../../store/pipelines.ts'
import { withDeadline } from '../../concurrency/with-deadline.ts'
import { getPipeline } from '../own-pipeline.ts'
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

const OFFSET = /^\d{1,18}$/

/** How often a silent log looks whether its pipeline is still there. */
const LOOK_MS = 3000

/**
 * Sends the newest lines, or those after the one that the client saw last, and then each that comes; waits where the client is slow. Ends
 * with the pipeline.
 */
function follow(logs: LogBook, pipelineId: string, query: Query, exists: () => Promise<boolean>) {
  return async ({ send, room, lastEventId, signal }: Listener<(typeof getPipelineLogsContract)['events']>): Promise<void> => {
    const later = (offset: bigint) => logs.linesOf(pipelineId).filter((line) => line.offset > offset && isWanted(line, query))
    let sent = lastEventId !== undefined && OFFSET.test(lastEventId) ? BigInt(lastEventId) : undefined
    sent ??= later(-1n).at(-query.limit - 1)?.offset ?? -1n
    let wake = Promise.withResolvers<void>()
    let isGone = false
    const notify = () => wake.resolve()
    const look = async (): Promise<void> => {
      isGone = !(await exists())
      notify()
    }
    const stop = logs.listen(pipelineId, notify)
    signal.addEventListener('abort', notify)
    try {
      while (!signal.aborted) {
        wake = Promise.withResolvers<void>()
        for (const line of later(sent)) {
          if (!(await room())) return
          send('log', show(line), String(line.offset))
          sent = line.offset
        }
        // If a line came, or the client left, since `wake` was made, it is resolved already.
        const timer = setTimeout(() => void look(), LOOK_MS)
        await wake.promise
        clearTimeout(timer)
        if (isGone) return
      }
    } finally {
      stop()
    }
  }
}

const START_MS = 3000

export const getPipelineLogsOperation = operation(getPipelineLogsContract, async (deps, caller, { params, query }) => {
  const { id } = await getPipeline(deps, caller, params.id)
  // Right after its start a control plane knows only some of the lines.
  await withDeadline(deps.logsRead, 'reading the logs', START_MS)
  if (query.follow === 'true') {
    // While Postgres is away, nothing is known to be gone.
    const exists = () => isPipelineKept(deps.db, id).catch(() => true)
    return { status: 200, events: follow(deps.logs, id, query, exists) }
  }
  const found = deps.logs.linesOf(id).filter((line) => isWanted(line, query))
  return { status: 200, body: { pipeline_id: id, logs: found.slice(-query.limit).map(show) } }
})
