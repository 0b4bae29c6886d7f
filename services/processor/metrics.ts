/** The tasks' state and the runners' use as Prometheus metrics, read at scrape time from the same source that the observer publishes. */
import { Counter, Gauge, type Registry } from 'prom-client'
import type { Runners } from './supervisor/runners.ts'
import { isOfStepTimes, STEP_MEASURES, type Measure } from '../../shared/model/telemetry.ts'
import { isBalanced } from '../../shared/model/counters.ts'
import { runOfReport, type ObservedTask } from '../../shared/model/observed.ts'

type Collect = (set: (labels: Record<string, string | number>, value: number) => void) => void

type Made = { reset(): void; inc(labels: Record<string, string | number>, value: number): void }
type Config = { name: string; help: string; labelNames: string[]; registers: Registry[]; collect(this: Made): void }

/** Makes metrics whose values are collected anew at each scrape; values with the same labels add up. */
const metricsIn =
  (registry: Registry, make: (config: Config) => unknown, isValid: (value: number) => boolean = () => true) =>
  (name: string, help: string, labelNames: string[], collect: Collect) =>
    make({
      name,
      help,
      labelNames,
      registers: [registry],
      collect() {
        this.reset()
        collect((labels, value) => {
          if (isValid(value)) this.inc(labels, value)
        })
      },
    })
const gaugesIn = (registry: Registry) => metricsIn(registry, (config) => new Gauge(config))
/** Runners report the counts: a negative one would make its counter throw, and with it the metrics of all accounts. */
const countersIn = (registry: Registry) =>
  metricsIn(
    registry,
    (config) => new Counter(config),
    (value) => value >= 0,
  )

/** All metrics of a processor; `docs/operating/metrics.md` is made of the same call. */
export function registerMetrics(registry: Registry, observed: () => ObservedTask[], members: () => number, usage: Runners['usage']): void {
  registerTaskMetrics(registry, observed)
  registerMeasures(registry, observed)
  registerFleetMetrics(registry, members, usage)
}

/** The reports of tasks, each with the id of its pipeline or job. */
const byRun = (observed: () => ObservedTask[]) => observed().map((report) => ({ ...report, pipeline: runOfReport(report) }))

function registerTaskMetrics(registry: Registry, observed: () => ObservedTask[]): void {
  const gauge = gaugesIn(registry)
  gauge('dps_tasks', 'Tasks on this processor by status', ['pipeline', 'status'], (set) => {
    for (const { pipeline, status } of byRun(observed)) set({ pipeline, status }, 1)
  })
  gauge('dps_task_lag_records', 'Offsets between position and end, summed over partitions', ['pipeline'], (set) => {
    for (const { pipeline, partitions } of byRun(observed))
      set(
        { pipeline },
        partitions.reduce((sum, { lag }) => sum + Number(lag), 0),
      )
  })
  gauge('dps_task_in_flight_records', 'Records fetched and not committed', ['pipeline'], (set) => {
    for (const { pipeline, in_flight } of byRun(observed)) set({ pipeline }, in_flight)
  })
  // Every commit asserts this too and fails the pipeline; the gauge is for alerting.
  gauge('dps_accounting_balanced', '1 while in = out + filtered + skipped + failed + absorbed for the whole chain', ['pipeline'], (set) => {
    const balanced = new Map<string, number>()
    for (const { pipeline, partitions } of byRun(observed)) {
      for (const { totals } of partitions) {
        balanced.set(pipeline, Math.min(balanced.get(pipeline) ?? 1, !totals || isBalanced(totals) ? 1 : 0))
      }
    }
    for (const [run, value] of balanced) set({ pipeline: run }, value)
  })
  countersIn(registry)('dps_step_records_total', 'Cumulative records by step and outcome', ['pipeline', 'step', 'outcome'], (set) => {
    for (const { pipeline, partitions } of byRun(observed)) {
      for (const { steps } of partitions) {
        for (const [index, counters] of steps.entries()) {
          for (const [outcome, value] of Object.entries(counters)) set({ pipeline, step: String(index + 1), outcome }, value)
        }
      }
    }
  })
}

const NANOSECONDS_PER_SECOND = 1e9

/** What SmartModules count and observe themselves. They may count down, so that no value is a counter of Prometheus. */
function registerMeasures(registry: Registry, observed: () => ObservedTask[]): void {
  const gauge = gaugesIn(registry)
  const collect =
    (kind: Measure['kind'], member: 'sum' | 'times'): Collect =>
    (set) => {
      for (const { pipeline, measures } of byRun(observed))
        for (const each of measures)
          if (each.kind === kind && !isOfStepTimes(each.name)) set({ pipeline, step: each.step, name: each.name }, each[member])
    }
  gauge('dps_step_seconds', 'How long a step has run since its task started, on the clock', ['pipeline', 'step'], (set) => {
    for (const { pipeline, measures } of byRun(observed))
      for (const { name, step, sum } of measures)
        if (name === STEP_MEASURES.nanoseconds) set({ pipeline, step }, sum / NANOSECONDS_PER_SECOND)
  })
  const labels = ['pipeline', 'step', 'name']
  gauge('dps_module_counted', 'What a SmartModule has counted since its task started', labels, collect('count', 'sum'))
  gauge(
    'dps_module_observed_sum',
    'Sum of the values that a SmartModule has observed since its task started',
    labels,
    collect('observe', 'sum'),
  )
  gauge(
    'dps_module_observed_count',
    'How many values a SmartModule has observed since its task started',
    labels,
    collect('observe', 'times'),
  )
}

function registerFleetMetrics(registry: Registry, members: () => number, usage: Runners['usage']): void {
  const gauge = gaugesIn(registry)
  gauge('dps_fleet_members', 'Processors in the last stable view of the fleet', [], (set) => set({}, members()))
  gauge('dps_lanes', 'Lanes at work in each runner; more than LANES while slow SmartModules have lanes to themselves', ['group'], (set) => {
    for (const { group, lanes } of usage()) set({ group }, lanes)
  })
  gauge('dps_lanes_slow', 'Lanes in each runner that slow SmartModules keep, and that run after all others', ['group'], (set) => {
    for (const { group, lanesSlow } of usage()) set({ group }, lanesSlow)
  })
  gauge('dps_runner_memory_bytes', 'Resident memory of each runner', ['group', 'pid'], (set) => {
    for (const { group, pid, rssBytes } of usage()) set({ group, pid }, rssBytes)
  })
  countersIn(registry)('dps_runner_cpu_seconds_total', 'CPU seconds of each runner since its start', ['group', 'pid'], (set) => {
    for (const { group, pid, cpuSeconds } of usage()) set({ group, pid }, cpuSeconds)
  })
}
