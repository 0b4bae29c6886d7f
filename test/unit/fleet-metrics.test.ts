/** What a processor's `/metrics` say about its runners. */
import { Registry } from 'prom-client'
import { expect, it } from 'vitest'
import { registerFleetMetrics } from '../../services/processor/metrics.ts'

it('counts the lanes of each runner apart, and those that slow SmartModules keep', async () => {
  const registry = new Registry()
  const runner = { account: undefined, rssBytes: 1, cpuSeconds: 1 }
  registerFleetMetrics(
    registry,
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
