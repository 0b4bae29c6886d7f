/** A Redis sink whose server was made a replica: the next try resolves the name again, in place of asking the same server for ever. */
import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { expect, it } from 'vitest'
import { createConnectorContext } from '../../shared/connectors/context.ts'
import { RedisSinkConfig } from '../../shared/connectors/redis/connector.ts'
import { openRedisSink } from '../../shared/connectors/redis/sink.ts'

it.each([
  "READONLY You can't write against a read only replica.",
  'ERR Error running script (call to f_1): @user_script:5: -READONLY You can’t write against a read only replica.',
  'LOADING Redis is loading the dataset in memory',
  'MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to ‘no’.',
])('connects again after %s', async (answer) => {
  let connections = 0
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    connections++
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on(
      'data',
      (bytes) => void socket.write(bytes.toString('latin1').toLowerCase().includes('ping') ? '+PONG\r\n' : `-${answer}\r\n`),
    )
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const context = createConnectorContext({
    secretOf: () => undefined,
    defaults: { addresses: 'any', per_account: { warehouse: false, bucket: false }, bucket_folders: [] },
    runId: 'run',
    origin: 'x',
    fields: undefined,
    log: () => {},
    now: Date.now,
  })
  const url = `redis://127.0.0.1:${(server.address() as AddressInfo).port}`
  const sink = await openRedisSink(RedisSinkConfig.parse({ url, stream: 'stream' }), context)
  const delivery = { runId: 'run', topicId: 't', partition: 0, from: 0n, to: 1n, revision: 1, resetAt: 0, note: '', deadLettered: [] }
  for (let tries = 1; tries <= 3; tries++) {
    expect(await sink.write(delivery, [], new AbortController().signal)).toMatchObject({ kind: 'retry' })
    expect(connections).toBe(tries)
  }
  await sink.close()
  for (const socket of sockets) socket.destroy()
  server.close()
})
