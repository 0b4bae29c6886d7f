/** Tails: what each operation answers. */
import { beforeAll } from 'vitest'
import * as tailApi from '../../../shared/api/tail.ts'
import { describeAnswers } from '../../harness/answers.ts'
import { loggedIn, service, type Client } from '../../harness/client.ts'
import { contractsOf } from '../../harness/contract-check.ts'
import { makeOneOfEach, type OneOfEach } from '../../harness/one-of-each.ts'
import { answeredWithEvents } from '../../harness/events.ts'
import { setStatus } from '../../harness/rows.ts'
import { createStream } from '../../harness/pipelines.ts'

let client: Client
let resources: OneOfEach
beforeAll(async () => {
  client = await loggedIn(service().accounts.enterprise)
  resources = await makeOneOfEach(client)
})

describeAnswers(contractsOf(tailApi), {
  client: () => client,
  resources: () => resources,
  cases: {
    tailPipeline: [
      [200, 'with events', () => answeredWithEvents(client, `/v1/pipelines/${resources.pipelines}/tail?at=source&last=1`)],
      [409, 'for a step that it lacks', () => client.call('GET', `/v1/pipelines/${resources.pipelines}/tail?at=step:5`)],
    ],
    tailStream: [
      [200, 'with events', () => answeredWithEvents(client, `/v1/streams/${resources.streams}/tail?last=1`)],
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
