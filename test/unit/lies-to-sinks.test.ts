/** Servers that lie to a sink (`test/attack/servers`): whatever they answer, nothing was delivered. */
import { expect, it } from 'vitest'
import { findConnector } from '../../shared/connectors/catalogue.ts'
import { createConnectorContext } from '../../shared/connectors/context.ts'
import { endpointOf, LIES, openLiar } from '../attack/servers/index.ts'
import { deliveryOf, rowsOf, valuesFrom } from '../harness/conformance.ts'
import { limitMs } from '../harness/machine-speed.ts'

/** Until then a sink tries again, or waits. */
const TRIED_MS = 2000
const ROWS = 10

it.concurrent.each(LIES.filter(({ way }) => way === 'write').map((lie) => [lie.protocol, lie.name, lie] as const))(
  '%s: %s',
  { timeout: limitMs(60_000) },
  async (_protocol, _name, lie) => {
    const liar = await openLiar(lie)
    const { connector_id, config, secrets } = endpointOf(lie, liar.port)
    const context = createConnectorContext({
      secretOf: (name) => secrets[name]!,
      defaults: { addresses: 'any', per_account: { warehouse: false, bucket: false }, bucket_folders: [] },
      runId: 'run',
      origin: 'numbers',
      fields: { n: 'integer' },
      log: () => {},
      now: Date.now,
    })
    const { open } = findConnector(connector_id)!.sink!
    const stop = new AbortController()
    const timer = setTimeout(() => stop.abort(), TRIED_MS)
    const outcome = await (async () => {
      const sink = await (await open!())(config, context)
      try {
        const rows = rowsOf(sink.rows, valuesFrom(0, ROWS), 0)
        const late = new Promise<{ kind: string }>((resolve) => setTimeout(() => resolve({ kind: 'late' }), limitMs(10_000)).unref())
        return await Promise.race([sink.write(deliveryOf(context, 0, ROWS), rows, stop.signal), late])
      } finally {
        await sink.close()
      }
    })().catch((error: unknown) => ({ kind: 'thrown', error }))
    clearTimeout(timer)
    await liar.close()
    expect(liar.connections()).toBeGreaterThan(0)
    expect(outcome.kind).toBeOneOf(['retry', 'permanent', 'changed', 'thrown'])
  },
)
