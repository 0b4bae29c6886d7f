/** Dead letters: what each operation answers. */
import { beforeAll } from 'vitest'
import * as deadLettersApi from '../../../shared/api/dead-letters.ts'
import { describeAnswers } from '../../harness/answers.ts'
import { eventually, loggedIn, service, unique, type Client } from '../../harness/client.ts'
import { contractsOf } from '../../harness/contract-check.ts'
import { makeOneOfEach, type OneOfEach } from '../../harness/one-of-each.ts'
import { createPipeline, createStream, write } from '../../harness/pipelines.ts'

let client: Client
let resources: OneOfEach
beforeAll(async () => {
  client = await loggedIn(service().accounts.enterprise)
  resources = await makeOneOfEach(client)
})

const at = (rest = '') => `/v1/pipelines/${resources.pipelines}/dead-letters${rest}`
let letter: string
beforeAll(async () => {
  const from = await createStream(client, { a: 'string' })
  const processors = [{ module_id: 'dps/filter', config: { expression: 'value.a > 5' } }]
  resources.pipelines = await createPipeline(client, from.id, [], resources.sink!, { processors, failure_threshold: 1 })
  await write(client, from.id, [{ a: 'x' }, { a: 'y' }])
  letter = await eventually('there is a dead letter', async () => {
    const { body } = await client.call<{ dead_letters: { id: string }[] }>('GET', at())
    return body.dead_letters[0]?.id
  })
})

describeAnswers(contractsOf(deadLettersApi), {
  client: () => client,
  resources: () => resources,
  cases: {
    listDeadLetters: [[200, 'with a page', () => client.call('GET', at())]],
    listDeadLetterGroups: [[200, 'with the groups', () => client.call('GET', at('/groups'))]],
    getDeadLetter: [[200, 'with the dead letter', () => client.call('GET', at(`/${letter}`))]],
    redriveDeadLetters: [
      [200, 'with the count of a dry run', () => client.call('POST', at('/redrive'), { dry_run: true })],
      [
        409,
        'to another body under a key that was used',
        async () => {
          const headers = { 'Idempotency-Key': unique('key') }
          await client.call('POST', at('/redrive'), { dry_run: true }, headers)
          return client.call('POST', at('/redrive'), { dry_run: false }, headers)
        },
      ],
      [202, 'with the job', () => client.call('POST', at('/redrive'), {})],
    ],
  },
})
