/**
 * Sinks of a real service whose servers answer a write with a lie (`test/attack/servers/`): what was written so is never counted as
 * delivered, and the pipeline does not go on behind it.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { beforeAll, describe, expect, it } from 'vitest'
import { endpointOf, HONEST, isWeb, LIES, openLiar, type SocketProtocol, type Told } from '../attack/servers/index.ts'
import { eventually, loggedIn, patiently, service, unique, type Client } from '../harness/client.ts'
import { stream } from '../harness/connectors.ts'
import { limitFromNow } from '../harness/machine-speed.ts'
import { createStream, stopAfterwards, waitForAccounting, write, type Accounting, type NewStream } from '../harness/pipelines.ts'

const RECORDS = 3
/** How long a lie that leaves the sink waiting for more is looked at; the others are seen through before. */
const LOOK_MS = 5000
const PRODUCE = 0

/** Whether bytes that a client has sent hold a write. */
const IS_WRITE: Readonly<Record<SocketProtocol, (sent: Buffer) => boolean>> = {
  postgres: (sent) => sent.includes('COPY '),
  // Of the position too: a sink that keeps its own may be told there that all is written.
  redis: (sent) => /\r\neval\r\n/i.test(sent.toString('latin1')),
  kafka(sent) {
    for (let at = 0; at + 8 <= sent.length; at += 4 + sent.readInt32BE(at)) if (sent.readInt16BE(at + 4) === PRODUCE) return true
    return false
  },
}

/** The same server; `onWrite` is called when something is written to it. */
function overheard(lie: Told, onWrite: () => void): Told {
  if (isWeb(lie)) {
    const answer = (request: IncomingMessage, response: ServerResponse): void => {
      if (/^(POST|PUT)$/.test(request.method ?? '')) onWrite()
      lie.answer(request, response)
    }
    return { ...lie, answer }
  }
  const answer = (socket: Socket): void => {
    socket.on('data', (sent: Buffer) => IS_WRITE[lie.protocol](sent) && onWrite())
    lie.answer(socket)
  }
  return { ...lie, answer }
}

let client: Client
let from: NewStream
beforeAll(async () => {
  client = await loggedIn(service().accounts.other)
  from = await createStream(client, { id: 'integer' }, { partitions: 1 })
  await write(
    client,
    from.id,
    Array.from({ length: RECORDS }, (_, id) => ({ id })),
  )
})

/** A pipeline that writes to this server; `writes` says how often it has tried. */
async function writeTo(lie: Told): Promise<{ id: string; writes(): number; close(): Promise<void> }> {
  let count = 0
  const liar = await openLiar(overheard(lie, () => count++))
  const { connector_id, config, secrets } = endpointOf(lie, liar.port, unique('sink').replaceAll('-', '_').toLowerCase())
  for (const [name, value] of Object.entries(secrets)) expect((await client.call('POST', '/v1/secrets', { name, value })).status).toBe(201)
  // Without the check, which a loaded machine has no time for: it writes nothing.
  const request = () => ({ name: unique('lied-to'), source: stream(from.id), processors: [], sink: { connector_id, config } })
  const created = await patiently(() => client.call<{ pipeline_id: string }>('POST', '/v1/pipelines?check=false', request()))
  expect(created.status).toBe(201)
  const id = stopAfterwards(client, created.body.pipeline_id)
  return {
    id,
    writes: () => count,
    async close() {
      await client.call('POST', `/v1/pipelines/${id}/stop`)
      await liar.close()
    },
  }
}

const nameOf = ({ protocol, name }: Told) => `${protocol}/${name}`

describe('a sink', () => {
  it.concurrent.each(HONEST.map((lie) => [nameOf(lie), lie] as const))('delivers to %s', async (_name, lie) => {
    const told = await writeTo(lie)
    expect((await waitForAccounting(client, told.id, RECORDS)).totals.out).toBe(RECORDS)
    await told.close()
  })

  // Last, what keeps a runner until it is ended, and with it the pipelines of the others.
  const keepsRunner = ({ name }: Told): number => Number(name === 'refused-that-go-back')
  const lies = LIES.filter(({ way }) => way === 'write').toSorted((a, b) => keepsRunner(a) - keepsRunner(b))
  it.concurrent.each(lies.map((lie) => [nameOf(lie), lie] as const))('has delivered nothing to %s', async (_name, lie) => {
    const told = await writeTo(lie)
    await eventually('the lie is told', async () => told.writes() > 0)
    const [isOver, from] = [limitFromNow(LOOK_MS), performance.now()]
    const found = await eventually('it is tried again, or the pipeline has failed', async () => {
      const { status } = (await client.call<{ status: string }>('GET', `/v1/pipelines/${told.id}/status`)).body
      const { totals } = (await client.call<Accounting>('GET', `/v1/pipelines/${told.id}/accounting`)).body
      const isSeen = told.writes() > 1 || status === 'failed' || totals.out! + totals.dead_lettered! > 0
      return (isSeen || performance.now() - from > isOver()) && totals
    })
    // The account may have used up its requests.
    const lag = await eventually('its lag is shown', async () => {
      return (await client.call<{ lag?: number }>('GET', `/v1/pipelines/${told.id}/offsets`)).body.lag
    })
    expect({ out: found.out, lag }).toEqual({ out: 0, lag: RECORDS - found.dead_lettered! })
    await told.close()
  })
})
