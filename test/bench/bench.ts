/**
 * `make bench`: contenders side by side in one run, at least three times each in turn; medians, spread and ratios; outputs are verified.
 * The main figures are the default; SUITE=product, modules, latency, neighbours, connectors, http, matrix or all measures others.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openReaper } from '../../deploy/local/child.ts'
import { cacheFolder } from '../../deploy/local/cache.ts'
import { temporaryHomeAt } from '../../deploy/local/home.ts'
import { startKafka } from '../../deploy/local/kafka.ts'
import { createKafka, ensureTopics } from '../../shared/kafka/admin/admin.ts'
import { openCluster } from '../../shared/kafka/cluster.ts'
import { measureContenders, report } from './contenders.ts'
import { measureLatency, type Latency } from './latency.ts'
import { loadInput } from './load-input.ts'
import { runMatrix } from './matrix.ts'
import { measureAllocations, measureIdle } from './memory.ts'
import { measureHttp } from './http.ts'
import { measureConnectors } from './connectors.ts'
import { assertQuiet, watchMachine } from './machine.ts'
import { measureModules } from './modules.ts'
import { measureNeighbours } from './neighbours.ts'
import { measureProduct } from './product.ts'
import { startBenchProcessor, type BenchStep } from './processor.ts'
import { PARTITIONS, RECORD_COUNT } from './records.ts'

const SUITES = ['default', 'latency', 'neighbours', 'connectors', 'matrix', 'http', 'product', 'modules', 'all'] as const
const suite = SUITES.find((each) => each === (process.env.SUITE || 'default'))
if (!suite) throw new Error(`SUITE must be one of ${SUITES.join(', ')}`)
await assertQuiet()
const machine = watchMachine()
const INPUT = 'bench-input'
const IDLE_PIPELINES = 200

const TWO_STEPS: BenchStep[] = [
  { name: 'dps/filter', config: { field: 'amount', operator: 'gte', value: 50 } },
  { name: 'dps/map-fields', config: { uppercase: ['text'] } },
]

const folder = await mkdtemp(join(tmpdir(), 'dps-bench-'))
const reaper = openReaper()
reaper.watchFolder(folder)
const home = temporaryHomeAt(folder, reaper)
const stack = await startKafka(home, { serverFlags: true })
const kafka = createKafka(stack.brokers, 'bench')
const admin = kafka.admin()
await admin.connect()
const cluster = openCluster({ brokers: stack.brokers, clientId: 'bench' })
const say = (line: string) => process.stdout.write(`${line}\n`)
const options = { kafka, brokers: stack.brokers, cache: cacheFolder(), partitions: PARTITIONS }

/** Measures each rate on its own processor, warmed up by the first seconds. */
async function latencies(rates: number[], seconds: number): Promise<Record<string, Latency>> {
  const found: Record<string, Latency> = {}
  for (const rate of rates) {
    const processor = await startBenchProcessor({ ...options, prefix: `latency${rate}` })
    try {
      found[rate] = await measureLatency(kafka, cluster, processor, TWO_STEPS, rate, seconds)
    } finally {
      await processor.close()
    }
    const { p50, p99, max } = found[rate]!
    say(`latency at ${rate.toLocaleString('en')}/s: p50 ${p50} ms, p99 ${p99} ms, max ${max} ms`)
  }
  return found
}

try {
  // The records' own times are of 2025: the default retention would delete them during the run.
  await ensureTopics(admin, [{ topic: INPUT, partitions: PARTITIONS, replicationFactor: 1, config: { 'retention.ms': '-1' } }])
  let outcome: Record<string, unknown> = { suite }
  if (suite === 'default' || suite === 'all') {
    // The contenders come first: what other measurements leave at the broker (topics being deleted) would slow them down.
    say(`loading ${RECORD_COUNT.toLocaleString('en')} records`)
    await loadInput(kafka, INPUT)
    outcome = { ...outcome, ...report(await measureContenders({ ...options, cluster, inputTopic: INPUT, say }), say) }
    outcome.bytes_allocated_per_million = await measureAllocations({ ...options, prefix: 'allocations' }, kafka, cluster, TWO_STEPS, INPUT)
    say(`bytes allocated per million records: ${Number(outcome.bytes_allocated_per_million).toLocaleString('en')}`)
    outcome.latency_ms = await latencies(suite === 'all' ? [1000, 10_000, 50_000] : [10_000], 15)
    const idle = await measureIdle({ ...options, prefix: 'idle' }, cluster, TWO_STEPS, IDLE_PIPELINES)
    outcome = { ...outcome, idle_pipelines: idle.pipelines, mib_per_idle_pipeline: idle.mibPerPipeline, cold_start_ms: idle.coldStartMs }
    say(`${idle.pipelines} idle pipelines: ${idle.mibPerPipeline} MiB each; cold start ${idle.coldStartMs} ms`)
  }
  if (suite === 'latency') outcome.latency_ms = await latencies([1000, 10_000, 50_000], 30)
  if (suite === 'neighbours' || suite === 'all') outcome.neighbours = await measureNeighbours({ ...options, cluster, say }, TWO_STEPS)
  if (suite === 'connectors' || suite === 'all') {
    if (suite === 'connectors') await loadInput(kafka, INPUT)
    outcome.connectors = await measureConnectors({ ...options, cluster, inputTopic: INPUT, home, say })
  }
  if (suite === 'http' || suite === 'all') outcome.http = await measureHttp(say)
  if (suite === 'modules' || suite === 'all') outcome.modules = await measureModules(say)
  if (suite === 'product' || suite === 'all') outcome.product = await measureProduct(say)
  if (suite === 'matrix' || suite === 'all') outcome.matrix = await runMatrix({ ...options, cluster, say })
  machine.assertOurs()
  outcome.others_share_of_machine = machine.othersShare()
  await writeFile(join(import.meta.dirname, 'latest.json'), `${JSON.stringify(outcome, null, 2)}\n`)
} catch (error) {
  // A failure on a machine that others load is put down to that load.
  machine.assertOurs(error)
  throw error
} finally {
  await admin.disconnect().catch(() => {})
  await cluster.close().catch(() => {})
  for (const child of stack.children) await child.stop()
  await rm(folder, { recursive: true, force: true })
  reaper.close()
}
process.exit(0)
