/** What the services' `/metrics` say: of the runners, and by names that Prometheus's habits explain. */
import { Counter, Registry } from 'prom-client'
import { expect, it } from 'vitest'
import { measureRequests } from '../../services/control-plane/http/metrics.ts'
import { registerMetrics } from '../../services/processor/metrics.ts'

it('counts the lanes of each runner apart, and those that slow SmartModules keep', async () => {
  const registry = new Registry()
  const runner = { account: undefined, rssBytes: 1, cpuSeconds: 1 }
  registerMetrics(
    registry,
    () => [],
    () => 1,
    () => [
      { ...runner, group: 'account/a', pid: 1, lanes: 2, lanesSlow: 0 },
      { ...runner, group: 'account/b', pid: 2, lanes: 3, lanesSlow: 1 },
    ],
  )
  const text = await registry.metrics()
  expect(text.split('\n').filter((line) => line.startsWith('dps_lanes'))).toEqual([
    'dps_lanes{group="account/a"} 2',
    'dps_lanes{group="account/b"} 3',
    'dps_lanes_slow{group="account/a"} 0',
    'dps_lanes_slow{group="account/b"} 1',
  ])
})

it('ends the names of counters, and of nothing else, in _total', () => {
  const registry = new Registry()
  measureRequests(registry)
  registerMetrics(
    registry,
    () => [],
    () => 1,
    () => [],
  )
  const metrics = registry.getMetricsAsArray()
  const counters = metrics.filter((each) => each instanceof Counter).map(({ name }) => name)
  expect(counters).toEqual(['dps_step_records_total', 'dps_runner_cpu_seconds_total'])
  expect(metrics.map(({ name }) => name).filter((name) => name.endsWith('_total'))).toEqual(counters)
})
