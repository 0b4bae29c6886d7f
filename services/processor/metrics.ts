/** The tasks' state as Prometheus gauges, read at scrape time from what the observer publishes: one source for both. */
import { Gauge, type Registry } from 'prom-client'
import type { ObservedTask } from '../../shared/model/definition.ts'

export function registerTaskMetrics(registry: Registry, observed: () => ObservedTask[]): void {
  const gauge = (
    name: string,
    help: string,
    labelNames: string[],
    collect: (set: (labels: Record<string, string>, value: number) => void) => void,
  ) =>
    new Gauge({
      name,
      help,
      labelNames,
      registers: [registry],
      collect() {
        this.reset()
        collect((labels, value) => this.inc(labels, value))
      },
    })
  gauge('dps_task_running', 'Tasks on this processor by status', ['pipeline', 'status'], (set) => {
    for (const { pipeline_id, status } of observed()) set({ pipeline: pipeline_id, status }, 1)
  })
  gauge('dps_task_lag_records', 'Offsets between position and end, summed over partitions', ['pipeline'], (set) => {
    for (const { pipeline_id, partitions } of observed())
      set(
        { pipeline: pipeline_id },
        partitions.reduce((sum, { lag }) => sum + Number(lag), 0),
      )
  })
  gauge('dps_step_records_total', 'Cumulative records by step and outcome', ['pipeline', 'step', 'outcome'], (set) => {
    for (const { pipeline_id, partitions } of observed()) {
      for (const { steps } of partitions) {
        for (const [index, counters] of steps.entries()) {
          for (const [outcome, value] of Object.entries(counters)) set({ pipeline: pipeline_id, step: String(index + 1), outcome }, value)
        }
      }
    }
  })
}
