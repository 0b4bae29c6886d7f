/**
 * A runner: the process in which the pipelines of one account run. Sockets, tasks and lanes are here; what should run, and with which
 * definition and secrets, comes from the supervisor over a pipe. It may be killed at any moment, and is: nothing waits for it.
 */
import { flushCompileCache } from 'node:module'
import { openKafkaSecurity } from '../../../shared/kafka/admin/security.ts'
import { openCluster } from '../../../shared/kafka/cluster.ts'
import { runIdOf, serviceNames } from '../../../shared/model/definition.ts'
import { kernelBinary } from '../../../shared/smartmodule/host/kernel-binary.ts'
import { watchLiveness } from '../../../shared/telemetry/liveness.ts'
import { createLogger } from '../../../shared/telemetry/log.ts'
import { openParent } from '../../../shared/processes/parent.ts'
import { muteConsole } from '../../../shared/processes/mute-console.ts'
import { releaseMemoryWhenIdle } from '../../../shared/processes/release-memory.ts'
import { openNotes } from '../channel/notes.ts'
import { ENDED_ITSELF, LEFT_ALONE } from '../../../shared/processes/watched-child.ts'
import { BEAT_MS, BEATS_MISSED_MAX, NOTES_FD, ToRunner, type FromRunner, type Settings } from '../channel/protocol.ts'
import { createBufferPool } from '../lane/buffer-pool.ts'
import type { Lanes } from '../lane/lanes.ts'
import { openPhases } from '../phases.ts'
import { openByteBudget } from '../task/byte-budget.ts'
import { createDefinitions } from './definitions.ts'
import { createPlugInRequests } from './plug-in-senders.ts'
import { openReports, type Reports } from './reports.ts'
import { openSlots, type Slots } from './slots.ts'
import { currentRun } from './task-life.ts'
import { createRunnerTelemetry } from './telemetry.ts'

/** Ends the process by a signal that nothing handles: no exit waits for threads that can't be interrupted. */
function end(): void {
  process.kill(process.pid, ENDED_ITSELF)
}

/** The supervisor is gone or stands still: others will have its tasks. That is no fault of what runs here. */
function endAlone(): void {
  process.kill(process.pid, LEFT_ALONE)
}

muteConsole()
// Where the supervisor can't: a main thread that stands still may have lost it.
watchLiveness()

const now = () => Date.now()
const notes = openNotes(NOTES_FD)
process.on('uncaughtException', (error) => {
  const runId = currentRun.getStore()
  if (runId !== undefined) notes.thrown(runId)
  process.stderr.write(
    `${JSON.stringify({ service: 'runner', level: 60, run_id: runId, msg: 'thrown past everything', reason: String(error.stack ?? error).slice(0, 4000) })}\n`,
  )
  end()
})

const parent = openParent<ToRunner, FromRunner>({ schema: ToRunner, onValue, onBytes: (bytes) => onBytes(bytes), onGone: endAlone })

let missed = 0
let slots: Slots | undefined
let reports: Reports | undefined
let draining: Promise<void> | undefined
let close: () => Promise<void> = () => Promise.resolve()
let lanes: Lanes | undefined
const { definitions, onAccounts, onBytes, onAnswer } = createDefinitions((value) => parent.send(value))
setInterval(() => {
  if (++missed > BEATS_MISSED_MAX) endAlone()
  parent.send({ type: 'beat', lanes: lanes?.count() ?? 0, stepped_back: lanes?.steppedBack() ?? 0 })
}, BEAT_MS)

function onValue(value: ToRunner): void {
  missed = 0
  switch (value.type) {
    case 'settings':
      return void start(value.settings)
    case 'beat':
      return
    case 'accounts':
      return onAccounts(value)
    case 'assign':
      return slots?.assign(runIdOf(value.definition), value)
    case 'release':
      return slots?.assign(value.run_id, undefined)
    case 'binary':
    case 'answer':
      return onAnswer(value)
    case 'drain':
      draining ??= drain()
      return
    default:
      value satisfies never
  }
}

async function start(settings: Settings): Promise<void> {
  const { processorId } = settings
  const log = createLogger('runner', settings.logLevel)
  const names = serviceNames(settings.prefix)
  const security = openKafkaSecurity(settings.security, settings.brokers)
  const cluster = openCluster({ brokers: settings.brokers, clientId: processorId, connection: security.connection })
  /** Buffers of fetched bytes: transferred to a lane with a round, returned once the lane has run them. */
  const inputs = createBufferPool(settings.fetchBudgetBytes)
  const phases = await openPhases(settings.faults)
  const telemetry = createRunnerTelemetry((value) => parent.send(value), now)
  const plugInRequests = createPlugInRequests(definitions)
  const openedLanes = phases.openLanes({
    inputs,
    count: settings.lanes,
    kernel: await WebAssembly.compile(await kernelBinary(settings.cacheFolder)),
    callTimeoutMs: settings.callTimeoutMs,
    now,
    onLost: (reason) => log.warn({ reason }, 'a lane was replaced'),
    notesFd: NOTES_FD,
    onLog: telemetry.onLog,
    onMeasured: telemetry.onMeasured,
    onRequest: plugInRequests.send,
    onStuck() {
      log.error('a lane does not end: ending the process')
      end()
    },
  })
  lanes = openedLanes
  const opened = openSlots({
    processorId,
    brokers: settings.brokers,
    cluster,
    definitions,
    notes,
    decline: ({ definition, id }) => parent.send({ type: 'declined', run_id: runIdOf(definition), task: id }),
    phases,
    telemetry,
    lanes: openedLanes,
    budget: openByteBudget(settings.fetchBudgetBytes),
    fetch: phases.createFetch(inputs.take),
    roundBytesMax: settings.roundBytesMax,
    sessionTimeoutMs: settings.sessionTimeoutMs,
    names,
    now,
    log: (level, message, fields) => log[level](fields, message),
    onChange: () => reports?.notify(),
    onEnded: (assignment, last) => reports?.ended(assignment, last),
  })
  slots = opened
  reports = openReports((value) => parent.send(value), opened.observed)
  close = async () => {
    await opened.close()
    reports?.close()
    telemetry.close()
    await openedLanes.close()
    await plugInRequests.close()
    await cluster.close()
  }
  parent.send({ type: 'ready' })
  // Otherwise written at exit, and a runner is killed instead.
  flushCompileCache()
  releaseMemoryWhenIdle(() => opened.observed().length === 0)
}

/** D7: stop fetching, finish the round, commit, leave the groups. */
async function drain(): Promise<void> {
  await close()
  parent.leave()
}
