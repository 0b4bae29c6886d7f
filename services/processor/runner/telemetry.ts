/**
 * What this runner's SmartModules and tasks log, on its way to the supervisor, and what the SmartModules have measured. Lines are sent ten
 * times a second; what does not fit into a sending is counted as dropped.
 */
import { runIdOf, type PipelineDefinition } from '../../../shared/model/definition.ts'
import { observedKey } from '../../../shared/model/observed.ts'
import { chainTask, type TaskId } from '../../../shared/model/task.ts'
import type { LogLine } from '../../../shared/model/logs.ts'
import { addUp, cutLine, MEASURES_MAX, OWN_MEASURES, type Measure } from '../../../shared/model/telemetry.ts'
import type { FromRunner } from '../channel/protocol.ts'
import type { LanesOptions } from '../lane/lanes.ts'

export type RunnerTelemetry = Pick<LanesOptions, 'onLog' | 'onMeasured'> & {
  /** A line of the task itself, which runs this revision of the definition. */
  onTaskLog(definition: PipelineDefinition, id: TaskId, revision: number, level: 'info' | 'warn', message: string): void
  /** What the task's SmartModules have measured since it runs this revision: nothing yet of one that has only just taken over. */
  measuresOf(runId: string, id: TaskId, revision: number): Measure[]
  /** The task starts, or is gone: its numbers begin anew. */
  forget(runId: string, id: TaskId): void
  close(): void
}

const SEND_MS = 100
/** Lines of one run that are sent at once. */
const LINES_MAX = 100

export function createRunnerTelemetry(send: (value: FromRunner) => void, now: () => number): RunnerTelemetry {
  const waiting = new Map<string, { lines: LogLine[]; dropped: number }>()
  /** Set while lines wait. */
  let timer: NodeJS.Timeout | undefined
  /** By task: of which revision, and by step, kind and name. */
  const measured = new Map<string, { revision: number; own: Map<string, Measure> }>()

  function add(runId: string, line: LogLine): void {
    let found = waiting.get(runId)
    if (!found) waiting.set(runId, (found = { lines: [], dropped: 0 }))
    if (found.lines.length < LINES_MAX) found.lines.push(line)
    else found.dropped++
    timer ??= setTimeout(flush, SEND_MS)
  }

  function flush(): void {
    clearTimeout(timer)
    timer = undefined
    for (const [run_id, { lines, dropped }] of waiting) {
      const last = lines.at(-1)
      if (last && dropped > 0) last.dropped = (last.dropped ?? 0) + dropped
      send({ type: 'logs', run_id, lines })
    }
    waiting.clear()
  }
  const at = () => new Date(now()).toISOString()
  /** A line that is of no step. */
  const ofTask = (id: TaskId, revision: number, level: LogLine['level'], message: string): LogLine => ({
    at: at(),
    level,
    step: null,
    module: null,
    version: null,
    ...id,
    revision,
    message,
  })

  return {
    onLog({ runId, task, revision, steps }, lines, dropped) {
      for (const { step, level, message } of lines) {
        const { name = null, version = null } = steps[step] ?? {}
        add(runId, { at: at(), level, step: step + 1, module: name, version, ...chainTask(task), revision, message })
      }
      const found = waiting.get(runId)
      if (dropped > 0 && found) found.dropped += dropped
      else if (dropped > 0) add(runId, { ...ofTask(chainTask(task), revision, 'warn', 'lines were dropped'), dropped })
    },
    onTaskLog(definition, id, revision, level, message) {
      add(runIdOf(definition), ofTask(id, revision, level, cutLine(message)))
    },
    onMeasured({ runId, task, revision }, measures) {
      const key = observedKey(runId, chainTask(task))
      const before = measured.get(key)
      if (before && before.revision > revision) return
      // Another revision's steps are other steps.
      const own = before?.revision === revision ? before.own : new Map<string, Measure>()
      measured.set(key, { revision, own })
      for (const each of measures) {
        const name = `${each.step} ${each.kind} ${each.name}`
        const known = own.get(name)
        if (known) {
          known.times += each.times
          known.sum = addUp(known.sum, each.sum)
        } else if (each.name.startsWith(OWN_MEASURES) || [...own.values()].filter(({ step }) => step === each.step).length < MEASURES_MAX)
          own.set(name, { ...each })
      }
    },
    measuresOf(runId, id, revision) {
      const found = measured.get(observedKey(runId, id))
      // Until its first round, a task that took over has the numbers of another revision's steps.
      return found?.revision === revision ? [...found.own.values()] : []
    },
    forget: (runId, id) => void measured.delete(observedKey(runId, id)),
    close: flush,
  }
}
