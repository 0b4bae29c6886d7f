/** Ranges that an earlier revision has planned: how long it is tried, and when the current revision writes them. */
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { OpenSink } from '../../shared/connectors/sink.ts'
import type { PipelineDefinition } from '../../shared/model/definition.ts'
import { Interrupted } from '../../services/processor/interruption.ts'
import { createPlanners } from '../../services/processor/task/planners.ts'
import type { Revision, Running } from '../../services/processor/task/running.ts'
import { definitionOf } from '../harness/definitions.ts'

afterEach(() => vi.restoreAllMocks())

const connectorSink = (more: object = {}) =>
  ({ kind: 'connector', connector_id: 'conn_http', config: { url: 'http://a' }, ...more }) as unknown as PipelineDefinition['sink']
const SINK = { close: async () => {} } as unknown as OpenSink

/** Planners where revision 1 has planned a range and revision 2 is at work. `open`: opens the chain of revision 1. */
function planned(before: PipelineDefinition['sink'], now: PipelineDefinition['sink'], open: () => Promise<void> = async () => {}) {
  const runningOf = (definition: PipelineDefinition, sink: OpenSink): Running =>
    ({ definition, sink, chain: { close: () => {} } }) as unknown as Running
  const first = definitionOf('pl_a', { sink: before })
  const openSink = vi.fn(async () => ({ ...SINK }))
  const planners = createPlanners(
    async () => ({ definition: first }) as unknown as Revision,
    openSink,
    () => {},
  )
  const current = runningOf(definitionOf('pl_a', { sink: now, revision: 2 }), SINK)
  const openPlanner = () =>
    planners.open(1, current, async (found, sink) => {
      await open()
      return runningOf(found.definition, sink!)
    })
  return { planners, current, openSink, openPlanner }
}
const away = new Interrupted({ kind: 'sink_away', afterMs: 0 }, 'away')

describe('an earlier revision that has planned a range', () => {
  it.each(['failed', 'threshold_passed'] as const)('leaves it to the current one when it ends with %s', async (kind) => {
    const { planners, current, openPlanner } = planned(connectorSink(), connectorSink())
    const planner = await openPlanner()
    expect(planner).not.toBe(current)
    expect(planners.mayGoOn(planner, new Interrupted('round_lost', 'a lane'))).toBe(false)
    expect(planners.mayGoOn(planner, new Interrupted(kind, 'refused'))).toBe(true)
    await planners.close()
    expect(await openPlanner()).toBe(current)
    expect(planners.mayGoOn(current, new Interrupted(kind, 'refused'))).toBe(false)
  })

  it('leaves it to the current one when its chain does not start', async () => {
    const { current, openPlanner } = planned(connectorSink(), connectorSink(), async () => {
      throw new Interrupted('failed', 'no such SmartModule')
    })
    expect(await openPlanner()).toBe(current)
  })

  it('leaves it to the current one when the sink that it wrote to is refused', async () => {
    const { current, openSink, openPlanner } = planned(connectorSink({ config: { url: 'http://b' } }), connectorSink())
    openSink.mockRejectedValue(new Interrupted('sink_refused', 'no such bucket'))
    expect(await openPlanner()).toBe(current)
  })

  it('is tried for as long as it takes in a sink whose place is the same, and for 20 seconds in one of another place', async () => {
    for (const [before, isPatient] of [
      [connectorSink({ on_error: { policy: 'fail', retries_max: 3, backoff_ms: 100 }, fields: { n: 'integer' } }), true],
      [connectorSink({ config: { url: 'http://b' } }), false],
    ] as const) {
      const { planners, openSink, openPlanner } = planned(before, connectorSink())
      const planner = await openPlanner()
      expect(openSink).toHaveBeenCalledTimes(isPatient ? 0 : 1)
      const startedAt = performance.now()
      const clock = vi.spyOn(performance, 'now').mockReturnValue(startedAt + 21_000)
      expect(planners.isPatient(planner)).toBe(isPatient)
      expect(planners.mayGoOn(planner, away)).toBe(!isPatient)
      clock.mockRestore()
    }
  })
})
