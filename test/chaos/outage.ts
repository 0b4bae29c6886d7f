/**
 * `make outage`: the load goes on for minutes without control plane, Postgres and Redis; meanwhile a processor is killed and restarted.
 * Data must flow all the time; afterwards the statuses catch up, and nothing is lost, duplicated or out of order.
 */
import { openArena, sleep } from './arena.ts'
import { until } from './client.ts'
import { startLoad } from './load.ts'
import { isExact, judge } from './oracle.ts'

const minutes = Number(process.env.MINUTES || 10)
const RATE = 2000
const BEFORE_MS = 15_000
const LOOK_MS = 10_000
/** Longest time without new output: a killed processor's partitions move, and the brokers settle, within it. */
const STALL_MAX_MS = 15_000
const started = Date.now()
const say = (line: string) => void process.stdout.write(`${String(Math.round((Date.now() - started) / 1000)).padStart(5)} s  ${line}\n`)

const arena = await openArena('outage', say)
let isGreen = false
try {
  const { launched, cluster, pipeline } = arena
  const { stack } = launched
  const load = await startLoad({
    cluster,
    kafka: arena.kafka,
    topic: pipeline.sourceTopic,
    partitions: 8,
    schemaId: pipeline.schemaId,
    recordsPerSecond: RATE,
    abortedEveryMs: 0,
  })
  await sleep(BEFORE_MS)
  await Promise.all(arena.controlPlanes.map((controlPlane) => controlPlane.stop()))
  process.kill(stack.pids.postgres!, 'SIGKILL')
  process.kill(stack.pids.redis!, 'SIGKILL')
  say(`${arena.controlPlanes.length} control planes, Postgres and Redis are gone`)

  const sinkEnd = async () => {
    const layout = (await cluster.describeTopic(pipeline.sinkTopic))!
    const ends = await cluster.offsets(layout, [...layout.leaders.keys()], 'latest')
    return [...ends.values()].reduce((sum, end) => sum + end, 0n)
  }
  let last = await sinkEnd()
  let movedAt = Date.now()
  let stall = 0
  let killed = false
  for (const endAt = Date.now() + minutes * 60_000; Date.now() < endAt; await sleep(LOOK_MS / 10)) {
    const end = await sinkEnd().catch(() => last)
    if (end > last) movedAt = Date.now()
    last = end
    stall = Math.max(stall, Date.now() - movedAt)
    const pid = launched.processors[0]!.pid()
    if (!killed && pid !== undefined && Date.now() > endAt - minutes * 30_000) {
      killed = process.kill(pid, 'SIGKILL')
      say(`a processor was killed; ${last} offsets in the sink so far`)
    }
  }
  say(`after ${minutes} minutes: ${last} offsets in the sink; the longest time without a new one was ${stall} ms`)
  await stack.restarts.postgres!()
  await stack.restarts.redis!()
  const back = Date.now()
  await launched.startControlPlane()
  // On another port than before: the client turns to the first one when there is no answer.
  await launched.addControlPlane()
  await until('the pipeline is running, by reports of tasks since the restart', 60_000, async () => {
    const { status, tasks } = await arena.api<{ status: string; tasks: { at: string }[] }>('GET', `/pipelines/${pipeline.id}/status`)
    return status === 'running' && tasks.length === 3 && tasks.every(({ at }) => Date.parse(at) > back)
  })
  say(`statuses have caught up ${Math.round((Date.now() - back) / 1000)} s after the control planes were started again`)
  await load.stop()
  const acknowledged = load.acknowledged()
  const total = acknowledged.reduce((sum, count) => sum + count, 0)
  await until('every record is processed', 60_000, async () => {
    const { lag } = await arena.api<{ lag: number }>('GET', `/pipelines/${pipeline.id}/status`)
    return lag === 0
  })
  const accounting = await until('the accounting has every record', 30_000, async () => {
    const found = await arena.api<{ totals: { in: number; in_flight: number } }>('GET', `/pipelines/${pipeline.id}/accounting`)
    return found.totals.in === total && found.totals.in_flight === 0 && found
  })
  const verdict = await judge(cluster, pipeline.sinkTopic, pipeline.deadLetterTopic, acknowledged)
  const { records, lost, duplicated, out_of_order, dead_letters } = verdict
  say(JSON.stringify({ records, lost, duplicated, out_of_order, dead_letters, longest_stall_ms: stall, counted: accounting.totals.in }))
  isGreen = isExact(verdict) && stall < STALL_MAX_MS && killed
  say(isGreen ? 'green: the data plane was not affected, and the control plane has caught up' : 'RED')
} finally {
  await arena.close()
}
process.exit(isGreen ? 0 : 1)
