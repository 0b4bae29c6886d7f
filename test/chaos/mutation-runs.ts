/**
 * Tests the harness itself: for each mutation, a pipeline whose processors break one rule on purpose, under kills, rebalances and lost
 * answers. The oracle must find its output wrong, and must find the output of sound processors under the same faults right (the control).
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { environmentOf } from './faults/faults.ts'
import type { Mutation } from './faults/mutations.ts'
import { ensureServiceTopics, ensureTopics } from '../../shared/kafka/admin/admin.ts'
import { parseCommitMetadata } from '../../shared/model/commit-metadata.ts'
import { definitionKeys, serviceNames, type PipelineDefinition } from '../../shared/model/definition.ts'
import { ON_ERROR_DEFAULT } from '../../shared/model/policies.ts'
import { askAgain } from './ask-again.ts'
import { poisonBinary, sleep, type Arena } from './arena.ts'
import { startLoad } from './load.ts'
import { isExact, judge } from './oracle.ts'
import { visitGroup } from './idle-member.ts'
import { limitMs, slowness } from '../harness/machine-speed.ts'
import { exactProducer } from '../harness/exact-producer.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const PARTITIONS = 4
const SCHEMA_ID = 1
const BACKLOG = 120_000
const RECORDS_PER_SECOND = 3000
/** A minute of load behind the backlog: what a slow machine would be given until its kills are over, it could not read back. */
const RECORDS_MAX = BACKLOG + 60 * RECORDS_PER_SECOND
const KILLS = 3
/** Runs at a time: each has two processors, and the machine has two cores. */
const AT_ONCE = 5
const KILL_EVERY_MS = 5000
/** How long a kill waits at most until the processors work again after the one before. */
const WORKS_MAX_MS = 30_000
const START_MAX_MS = 90_000
/** A broken rule may keep the processors from ever working again: a slow machine waits for them as much longer, and no more. */
const SLOWER_MAX = 3
/** Longest time without progress, and longest time overall, before a run counts as stuck. */
const PATIENCE = { idleMs: 20_000, recoverMs: 120_000 }
/** Sound processors are given all the time they need; fetches of aborted batches alone they commit once a minute. */
const CONTROL_PATIENCE = { idleMs: 90_000, recoverMs: 300_000 }
/** How long answers are lost now and then, from the start of a batch of runs; longer while one of them is in trouble. */
const CUTTING_MS = 36_000
/** Prefixes of the runs whose faults are not over. */
const inTrouble = new Set<string>()

const waitMs = (ms: number): number => Math.min(limitMs(ms), SLOWER_MAX * ms)

export type MutationRun = { mutation: Mutation | 'none'; isCaught: boolean; why: string }

function startProcessor(arena: Arena, prefix: string, mutation: Mutation | 'none'): ChildProcess {
  const child = spawn(process.execPath, ['--no-warnings', join(ROOT, 'services', 'processor', 'main.ts')], {
    env: {
      ...process.env,
      KAFKA_BROKERS: arena.launched.stack.kafka!.proxied.join(','),
      DPS_PREFIX: prefix,
      DPS_CACHE: arena.launched.env.DPS_CACHE,
      LOG_LEVEL: process.env.TRIAL_LOG ?? 'silent',
      NODE_ENV: 'test',
      REPLICATION_FACTOR: '1',
      ...(mutation === 'none' ? {} : environmentOf(mutation)),
    },
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  arena.launched.stack.home.reaper.watch(child.pid!)
  child.once('exit', () => arena.launched.stack.home.reaper.forget(child.pid!))
  return child
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGKILL')
  await gone
}

/** Creates the topics and publishes binary and definition, as the control plane would. */
async function prepare(arena: Arena, prefix: string): Promise<PipelineDefinition> {
  const names = serviceNames(prefix)
  const admin = arena.kafka.admin()
  const producer = exactProducer(arena.kafka)
  await Promise.all([admin.connect(), producer.connect()])
  const [source, sink, deadLetters] = [`${prefix}.source`, `${prefix}.sink`, `${prefix}.dead-letters`] as const
  await askAgain(() => ensureServiceTopics(admin, names, 1))
  const config = { 'min.insync.replicas': '1' }
  // One partition for all dead letters: a round has a batch of each source partition for it, so that sequences matter in every transaction.
  const counts = [
    [source, PARTITIONS],
    [sink, PARTITIONS],
    [deadLetters, 1],
  ] as const
  const topics = counts.map(([topic, partitions]) => ({ topic, partitions, replicationFactor: 1, config }))
  await askAgain(() => ensureTopics(admin, topics))
  const binary = await poisonBinary()
  const sha256 = createHash('sha256').update(binary).digest('hex')
  const definition: PipelineDefinition = {
    pipeline_id: 'pl_run',
    account_id: 'acc_run',
    name: 'mutation-run',
    revision: 1,
    attempt: 1,
    desired: 'running',
    tasks: 2,
    source: { kind: 'topic', topic: source, partitions: PARTITIONS },
    sink: {
      kind: 'topic',
      topic: sink,
      schema_id: SCHEMA_ID,
      bytes_max: 1_048_588,
      compression: 'none',
      is_compacted: false,
      on_error: ON_ERROR_DEFAULT,
    },
    dead_letter_bytes_max: 1_048_588,
    dead_letter_topic: deadLetters,
    group_id: names.runGroup('pl_run'),
    failure_threshold: 1,
    on_lost_position: 'fail',
    reset_revision: 0,
    steps: [
      {
        module_id: 'poison',
        name: 'poison',
        version: '1.0.0',
        sha256,
        kind: 'batch',
        input_format: 'json',
        output_format: 'json',
        config: {},
        on_error: ON_ERROR_DEFAULT,
        changes_keys: false,
      },
    ],
  }
  const publish = (key: string, value: Buffer | string) => producer.send({ topic: names.definitions, messages: [{ key, value }], acks: -1 })
  await arena.cluster.ensureStartOffsets(definition.group_id, (await arena.cluster.describeTopic(source))!)
  await publish(definitionKeys.smartModule(sha256), binary)
  await publish(definitionKeys.pipeline(definition.pipeline_id), JSON.stringify(definition))
  await Promise.all([admin.disconnect(), producer.disconnect()])
  return definition
}

async function shakeGroup(arena: Arena, { group_id, source }: PipelineDefinition, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    await visitGroup(arena.launched.stack.kafkaBrokers, group_id, source.topic, 1000).catch(() => {})
    await sleep(1500)
  }
}

async function runMutation(arena: Arena, mutation: Mutation | 'none', index: number): Promise<MutationRun> {
  const prefix = `${arena.launched.env.DPS_PREFIX}-run${index}`
  inTrouble.add(prefix)
  try {
    return await runIn(arena, mutation, prefix)
  } finally {
    inTrouble.delete(prefix)
  }
}

async function runIn(arena: Arena, mutation: Mutation | 'none', prefix: string): Promise<MutationRun> {
  const definition = await prepare(arena, prefix)
  const load = await startLoad({
    cluster: arena.cluster,
    kafka: arena.kafka,
    topic: definition.source.topic,
    partitions: PARTITIONS,
    schemaId: SCHEMA_ID,
    recordsPerSecond: RECORDS_PER_SECOND,
    backlog: BACKLOG,
    recordsMax: RECORDS_MAX,
    abortedEveryMs: 1500,
  })
  // A broken rule may leave a transaction open, so that the offsets can't be read: that is a finding, not a fault of the harness.
  const offsetsNow = () =>
    arena.cluster
      .committedOffsets(definition.group_id, definition.source.topic, [0, 1, 2, 3])
      .catch(() => new Map<number, { offset: bigint; metadata: string }>())
  const committed = async () => {
    const found = await offsetsNow()
    return [...found.values()].reduce((sum, { offset }) => sum + offset, 0n)
  }
  await sleep(2500)
  const processors = [startProcessor(arena, prefix, mutation), startProcessor(arena, prefix, mutation)]
  let isOver = false
  try {
    // The faults begin once the processors commit, not while they start.
    for (const deadline = Date.now() + waitMs(START_MAX_MS); Date.now() < deadline && (await committed()) === 0n;) await sleep(200)
    const storm = shakeGroup(arena, definition, () => isOver)
    // By turns, and while they commit: the one that has only just started may not have begun to work.
    for (let kills = 0; kills < KILLS; kills++) {
      const before = await committed()
      await sleep(KILL_EVERY_MS)
      for (const until = Date.now() + waitMs(WORKS_MAX_MS); Date.now() < until && (await committed()) === before;) await sleep(200)
      const index = kills % processors.length
      await stop(processors[index]!)
      processors[index] = startProcessor(arena, prefix, mutation)
    }
    isOver = true
    await storm
    inTrouble.delete(prefix)
    await load.stop()
    const acknowledged = load.acknowledged()
    const written = acknowledged.reduce((sum, count) => sum + count, 0)
    const position = async () => {
      const committed = await offsetsNow()
      const layout = (await arena.cluster.describeTopic(definition.source.topic))!
      const ends = await arena.cluster.offsets(layout, [0, 1, 2, 3], 'latest')
      const counted = [...committed.values()].reduce((sum, { metadata }) => sum + (parseCommitMetadata(metadata)?.t?.[0] ?? 0), 0)
      const isAtEnd = [...ends].every(([partition, end]) => (committed.get(partition)?.offset ?? 0n) >= end - 1n)
      return { counted, isDone: counted >= written || isAtEnd }
    }
    // A slow machine is not a stuck pipeline: the wait goes on as long as offsets move.
    let before = -1n
    let movedAt = Date.now()
    const { idleMs, recoverMs } = mutation === 'none' ? CONTROL_PATIENCE : PATIENCE
    const factor = mutation === 'none' ? slowness() : 1
    const deadline = Date.now() + recoverMs * factor
    for (; Date.now() < deadline && Date.now() - movedAt < idleMs * factor; await sleep(300)) {
      if ((await position()).isDone) break
      const now = await committed()
      if (now !== before) [before, movedAt] = [now, Date.now()]
    }
    const { counted, isDone } = await position()
    const sinkTopic = definition.sink.kind === 'topic' ? definition.sink.topic : ''
    const verdict = await judge(arena.cluster, sinkTopic, definition.dead_letter_topic, acknowledged)
    const faults = Object.entries({
      ...verdict,
      borders: 0,
      records: 0,
      dead_letters: 0,
      miscounted: Math.abs(counted - written),
      stuck: isDone ? 0 : 1,
    })
      .filter(([, value]) => value !== 0)
      .map(([name, value]) => `${name} ${String(value)}`)
    // Processors that don't even start lose every record: that shows nothing about the rule, but is wrong of the control.
    const hasWorked = (await committed()) > 0n || verdict.lost < verdict.records || verdict.ghosts + verdict.misplaced > 0
    const isWrong = !isExact(verdict) || counted !== written
    const why = hasWorked ? faults.join(', ') || 'nothing wrong' : 'a fault of the harness: its processors have done nothing'
    return { mutation, isCaught: isWrong && (hasWorked || mutation === 'none'), why }
  } finally {
    isOver = true
    await Promise.all(processors.map(stop))
    await load.stop()
  }
}

/** A mutation that was not caught is tried up to twice more: whether a kill hits the right moment is chance. */
export async function runMutations(
  arena: Arena,
  mutations: readonly (Mutation | 'none')[],
  say: (line: string) => void,
): Promise<MutationRun[]> {
  let runs = await runOnce(arena, mutations, say)
  for (let more = 0; more < 2; more++) {
    const missed = runs.filter(({ mutation, isCaught }) => mutation !== 'none' && !isCaught).map(({ mutation }) => mutation)
    if (missed.length === 0) break
    say(`trying again: ${missed.join(', ')}`)
    const again = await runOnce(arena, missed, say)
    runs = runs.map((run) => again.find(({ mutation }) => mutation === run.mutation) ?? run)
  }
  return runs
}

let runCount = 0

/** Runs a few runs at a time. Lost answers hit all of them alike. */
async function runOnce(arena: Arena, mutations: readonly (Mutation | 'none')[], say: (line: string) => void): Promise<MutationRun[]> {
  const runs: MutationRun[] = []
  for (let from = 0; from < mutations.length; from += AT_ONCE) {
    const batch = mutations.slice(from, from + AT_ONCE)
    let isOver = false
    const cutting = (async () => {
      for (const until = Date.now() + CUTTING_MS; !isOver && (Date.now() < until || inTrouble.size > 0);) {
        for (const proxy of arena.proxies) proxy.cutEndTxn(true)
        await sleep(250)
        for (const proxy of arena.proxies) proxy.cutEndTxn(false)
        await sleep(1500)
      }
    })()
    const ended = await Promise.allSettled(batch.map((mutation) => runMutation(arena, mutation, ++runCount)))
    isOver = true
    await cutting
    // Thrown only now: a run that still runs would keep its processors and its load.
    const results = ended.map((run) => {
      if (run.status === 'rejected') throw run.reason
      return run.value
    })
    for (const run of results) say(`  ${run.mutation.padEnd(26)} ${run.isCaught ? 'caught' : 'not caught'}: ${run.why}`)
    runs.push(...results)
  }
  return runs
}
