/** `make bench`: all contenders side by side in one run, each at least three times in turn, medians, spread, ratios; outputs verified. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openReaper } from '../../deploy/local/child.ts'
import { cacheFolder } from '../../deploy/local/cache.ts'
import { startKafka } from '../../deploy/local/kafka.ts'
import { createKafka, ensureTopics } from '../../shared/kafka/admin/admin.ts'
import { openCluster } from '../../shared/kafka/cluster.ts'
import { startContender, type Contender, type Run } from './child-runs.ts'
import { loadInput } from './load-input.ts'
import { startProcessorRuns, type BenchStep } from './processor-runs.ts'
import { isKept, PARTITIONS, RECORD_COUNT, recordOf, type BenchRecord } from './records.ts'
import { verifyOutput } from './verify.ts'

const REPEATS = Number(process.env.REPEATS ?? 3)
const INPUT = 'bench-input'
const HERE = import.meta.dirname

const FILTER: BenchStep = { name: 'dps/filter', config: { field: 'amount', operator: 'gte', value: 50 } }
const UPPERCASE: BenchStep = { name: 'dps/map-fields', config: { uppercase: ['text'] } }
const TAIL: BenchStep[] = [
  { name: 'dps/map-fields', config: { rename: { ts: 'time' } } },
  { name: 'dps/filter', config: { field: 'user', operator: 'starts_with', value: 'user-' } },
  { name: 'dps/map-fields', config: { set: { source: 'bench' } } },
]
const upper = (record: BenchRecord) => ({ ...record, text: record.text.toUpperCase() })
const five = ({ ts, ...record }: BenchRecord) => ({ ...upper({ ts, ...record }), ts: undefined, time: ts, source: 'bench' })
const keptCount = Array.from({ length: RECORD_COUNT }, (_, id) => recordOf(id)).filter(isKept).length

type Contestant = { name: string; run(output: string): Promise<Run>; check(output: string): Promise<void> }

const folder = await mkdtemp(join(tmpdir(), 'dps-bench-'))
const reaper = openReaper()
reaper.watchFolder(folder)
const stack = await startKafka(folder, reaper, { serverFlags: true })
const [broker] = stack.brokers as [string]
const kafka = createKafka(stack.brokers, 'bench')
const admin = kafka.admin()
await admin.connect()
const cluster = openCluster({ brokers: stack.brokers, clientId: 'bench', now: () => Date.now() })
// The records' own times are of 2025: the default retention would delete them under our hands.
const newTopic = async (topic: string) =>
  ensureTopics(admin, [{ topic, partitions: PARTITIONS, replicationFactor: 1, config: { 'retention.ms': '-1' } }])

async function measure(): Promise<Map<string, Run[]>> {
  await newTopic(INPUT)
  process.stdout.write(`loading ${RECORD_COUNT.toLocaleString('en')} records\n`)
  await loadInput(kafka, INPUT)
  const processor = await startProcessorRuns(kafka, cluster, broker, INPUT, cacheFolder())
  const results = new Map<string, Run[]>()
  let round = 0
  const contenders: Contender[] = []
  const external = (name: string, script: string, check: (output: string) => Promise<void>): Contestant => {
    const contender = startContender(join(HERE, script), [broker, INPUT])
    contenders.push(contender)
    return { name, run: (output) => contender.run(output), check }
  }
  const ours = (name: string, steps: BenchStep[], outputOf: (record: BenchRecord) => unknown): Contestant => ({
    name,
    run: (output) => processor.run(name.replaceAll('_', ''), steps, output),
    check: (output) =>
      verifyOutput(kafka, output, { count: keptCount, recordAt: (id) => JSON.parse(JSON.stringify(outputOf(recordOf(id)))) }),
  })
  const contestants = [
    external('pump', 'pump.ts', (output) => verifyOutput(kafka, output, { count: RECORD_COUNT / 2 })),
    ours('exactly_once_one_step', [FILTER], (record) => record),
    ours('exactly_once_two_steps', [FILTER, UPPERCASE], upper),
    ours('exactly_once_five_steps', [FILTER, UPPERCASE, ...TAIL], five),
    external('kafkajs_by_hand', 'kafkajs-by-hand.ts', (output) =>
      verifyOutput(kafka, output, { count: keptCount, recordAt: (id) => upper(recordOf(id)) }),
    ),
  ]
  try {
    for (round = 1; round <= REPEATS; round++) {
      for (const { name, run, check } of contestants) {
        const output = `${name.replaceAll('_', '-')}-${round}`
        await newTopic(output)
        const result = await run(output)
        await check(output)
        results.set(name, [...(results.get(name) ?? []), result])
        process.stdout.write(
          `${round}/${REPEATS} ${name.padEnd(24)} ${perSecond(result).toLocaleString('en').padStart(10)} records/s ${perMillion(result).toFixed(2).padStart(6)} CPU-s/million  verified\n`,
        )
        await admin.deleteTopics({ topics: [output] })
      }
    }
  } finally {
    contenders.forEach((contender) => contender.close())
    await processor.close()
  }
  return results
}

const perSecond = ({ records, seconds }: Run): number => Math.round(records / seconds)
const perMillion = ({ records, cpuSeconds }: Run): number => (cpuSeconds * 1e6) / records
const median = (values: number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!
const round2 = (value: number): number => Math.round(value * 100) / 100

async function report(results: Map<string, Run[]>): Promise<void> {
  const by = (pick: (run: Run) => number) => Object.fromEntries([...results].map(([name, runs]) => [name, round2(median(runs.map(pick)))]))
  const speed = by(perSecond)
  const ratio = (of: string, to: string) => round2(speed[of]! / speed[to]!)
  const outcome = {
    records: RECORD_COUNT,
    repeats: REPEATS,
    records_per_second: speed,
    cpu_seconds_per_million: by(perMillion),
    rss_mib: by(({ rssMib }) => rssMib),
    spread: Object.fromEntries(
      [...results].map(([name, runs]) => [name, { min: Math.min(...runs.map(perSecond)), max: Math.max(...runs.map(perSecond)) }]),
    ),
    ratios: {
      exactly_once_two_steps_vs_kafkajs: ratio('exactly_once_two_steps', 'kafkajs_by_hand'),
      exactly_once_one_step_vs_pump: ratio('exactly_once_one_step', 'pump'),
      exactly_once_two_steps_vs_one: ratio('exactly_once_two_steps', 'exactly_once_one_step'),
      exactly_once_five_steps_vs_one: ratio('exactly_once_five_steps', 'exactly_once_one_step'),
    },
  }
  await writeFile(join(HERE, 'latest.json'), `${JSON.stringify(outcome, null, 2)}\n`)
  process.stdout.write('\nmedian of the runs              records/s   CPU-s/million   RSS MiB   spread\n')
  for (const name of results.keys()) {
    const { min, max } = outcome.spread[name]!
    process.stdout.write(
      `${name.padEnd(28)} ${speed[name]!.toLocaleString('en').padStart(12)} ${outcome.cpu_seconds_per_million[name]!.toFixed(2).padStart(15)} ${String(outcome.rss_mib[name]).padStart(9)}   ${min.toLocaleString('en')} – ${max.toLocaleString('en')}\n`,
    )
  }
  for (const [name, value] of Object.entries(outcome.ratios)) process.stdout.write(`${name} = ${value}\n`)
}

try {
  await report(await measure())
} finally {
  await admin.disconnect().catch(() => {})
  await cluster.close().catch(() => {})
  for (const child of stack.children) await child.stop()
  await rm(folder, { recursive: true, force: true })
  reaper.close()
}
process.exit(0)
