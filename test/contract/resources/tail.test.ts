/** Tails: what each operation answers. */
import { beforeAll } from 'vitest'
import * as tailApi from '../../../shared/api/tail.ts'
import { describeAnswers } from '../../harness/answers.ts'
import { loggedIn, service, type Client } from '../../harness/client.ts'
import { contractsOf } from '../../harness/contract-check.ts'
import { makeRoom, type Room } from '../../harness/rooms.ts'
import { answeredWithEvents } from '../../harness/events.ts'
import { setStatus } from '../../harness/rows.ts'
import { createStream } from '../../harness/pipelines.ts'

let client: Client
let room: Room
beforeAll(async () => {
  client = await loggedIn(service().accounts.enterprise)
  room = await makeRoom(client)
})

describeAnswers(contractsOf(tailApi), {
  client: () => client,
  room: () => room,
  cases: {
    tailPipeline: [
      [200, 'with events', () => answeredWithEvents(client, `/v1/pipelines/${room.pipelines}/tail?at=source&last=1`)],
      [409, 'for a step that it lacks', () => client.call('GET', `/v1/pipelines/${room.pipelines}/tail?at=step:5`)],
    ],
    tailStream: [
      [200, 'with events', () => answeredWithEvents(client, `/v1/streams/${room.streams}/tail?last=1`)],
      [
        409,
        'while the stream is being created',
        async () => {
          const { id } = await createStream(client, { a: 'string' })
          await setStatus('streams', id, 'creating')
          return client.call('GET', `/v1/streams/${id}/tail`)
        },
      ],
    ],
  },
})
