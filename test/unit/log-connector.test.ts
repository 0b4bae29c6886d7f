/** The sink `log`: what it shows of a round. It has nothing outside of the process to keep, so the conformance suites don't run it. */
import { expect, it } from 'vitest'
import { createConnectorContext } from '../../shared/connectors/context.ts'
import { logConnector } from '../../shared/connectors/log/connector.ts'

const VALUES = ['{"n":1}', '{"n":2}', `{"text":"${'x'.repeat(600)}","token":"hidden-from-logs"}`, '{"n":4}']

it('counts a round’s records and shows the first ones, cut and without secrets', async () => {
  const lines: string[] = []
  const context = createConnectorContext({
    defaults: { addresses: 'any', per_account: { warehouse: false, bucket: false }, bucket_folders: [] },
    runId: 'pl_1',
    origin: 'pl_1',
    fields: undefined,
    secretOf: () => undefined,
    log: (level, message) => void lines.push(`${level} ${message}`),
    now: () => 0,
  })
  context.learn('"n":2')
  const open = await logConnector.sink?.open?.()
  if (!open) throw new Error('log is no sink')
  const sink = await open({ sample: 3 }, context)
  const bytes = Buffer.from(VALUES.map((value) => `${value}\n`).join(''))
  const ends = new Uint32Array(VALUES.length)
  VALUES.forEach((value, at) => (ends[at] = (ends[at - 1] ?? 0) + value.length + 1))
  const delivery = { runId: 'pl_1', topicId: 't', partition: 2, from: 7n, to: 11n, revision: 1, resetAt: 0, note: '', deadLettered: [] }
  const rows = { bytes, count: VALUES.length, ends, offsets: new Float64Array([7, 8, 9, 10]), times: new Float64Array(4) }
  expect(await sink.write(delivery, [rows], new AbortController().signal)).toEqual({ kind: 'delivered' })
  expect(lines).toEqual([
    'info log: 4 records of partition 2, offsets 7 to 11',
    'info log: {"n":1}',
    'info log: {***}',
    `info log: ${VALUES[2]!.slice(0, 500)}`,
  ])
  await sink.close()
})
