/** The contenders over one million records: the limit (pump), our chains, and the same work written by hand on kafkajs. */
import { join } from 'node:path'
import type { Kafka } from 'kafkajs'
import { ensureTopics } from '../../shared/kafka/admin/admin.ts'
import type { Cluster } from '../../shared/kafka/cluster.ts'
import { startContender, type Contender, type Run } from './child-runs.ts'
import { startBenchProcessor, type BenchProcessorOptions, type BenchStep } from './processor.ts'
import { runPipeline } from './processor-runs.ts'
import { isKept, PARTITIONS, RECORD_COUNT, recordOf, type BenchRecord } from './records.ts'
import { verifyOutput } from './verify.ts'

const REPEATS = Number(process.env.REPEATS || 3)
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

type Contestant = { name: string; run(output: string): Promise<Run>; check(output: string): Promise<void> }
type Options = Omit<BenchProcessorOptions, 'prefix'> & { kafka: Kafka; cluster: Cluster; inputTopic: string; say: (line: string) => void }

export async function measureContenders({ kafka, cluster, inputTopic, say, ...options }: Options): Promise<Map<string, Run[]>> {
  const keptCount = Array.from({ length: RECORD_COUNT }, (_, id) => recordOf(id)).filter(isKept).length
  const [broker] = options.brokers as [string]
  const admin = kafka.admin()
  await admin.connect()
  const processor = await startBenchProcessor({ ...options, kafka, prefix: 'bench' })
  const results = new Map<string, Run[]>()
  const contenders: Contender[] = []
  const external = (name: string, script: string, check: (output: string) => Promise<void>): Contestant => {
    const contender = startContender(join(HERE, script), [broker, inputTopic])
    contenders.push(contender)
    return { name, run: (output) => contender.run(output), check }
  }
  const ours = (name: string, steps: BenchStep[], outputOf: (record: BenchRecord) => unknown): Contestant => ({
    name,
    run: (output) => runPipeline(kafka, cluster, [processor], steps, { inputTopic, outputTopic: output, partitions: PARTITIONS }),
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
    for (let round = 1; round <= REPEATS; round++) {
      for (const { name, run, check } of contestants) {
        const output = `${name.replaceAll('_', '-')}-${round}`
        await ensureTopics(admin, [{ topic: output, partitions: PARTITIONS, replicationFactor: 1, config: { 'retention.ms': '-1' } }])
        const result = await run(output)
        await check(output)
        results.set(name, [...(results.get(name) ?? []), result])
        say(
          `${round}/${REPEATS} ${name.padEnd(24)} ${perSecond(result).toLocaleString('en').padStart(10)} records/s ${perMillion(result).toFixed(2).padStart(6)} CPU-s/million  verified`,
        )
        await admin.deleteTopics({ topics: [output] })
      }
    }
  } finally {
    contenders.forEach((contender) => contender.close())
    await processor.close()
    await admin.disconnect()
  }
  return results
}

export const perSecond = ({ records, seconds }: Run): number => Math.round(records / seconds)
export const perMillion = ({ records, cpuSeconds }: Run): number => (cpuSeconds * 1e6) / records
export const median = (values: number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!
export const round2 = (value: number): number => Math.round(value * 100) / 100

export function report(results: Map<string, Run[]>, say: (line: string) => void) {
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
  say('\nmedian of the runs              records/s   CPU-s/million   RSS MiB   spread')
  for (const name of results.keys()) {
    const { min, max } = outcome.spread[name]!
    say(
      `${name.padEnd(28)} ${speed[name]!.toLocaleString('en').padStart(12)} ${outcome.cpu_seconds_per_million[name]!.toFixed(2).padStart(15)} ${String(outcome.rss_mib[name]).padStart(9)}   ${min.toLocaleString('en')} – ${max.toLocaleString('en')}`,
    )
  }
  for (const [name, value] of Object.entries(outcome.ratios)) say(`${name} = ${value}`)
  return outcome
}
