/** Jobs: what each operation answers. */
import { beforeAll } from 'vitest'
import * as jobsApi from '../../../shared/api/jobs.ts'
import { describeAnswers } from '../../harness/answers.ts'
import { eventually, loggedIn, service, unique, type Client } from '../../harness/client.ts'
import { contractsOf } from '../../harness/contract-check.ts'
import { makeOneOfEach, type OneOfEach } from '../../harness/one-of-each.ts'
import { setStatus } from '../../harness/rows.ts'

let client: Client
let resources: OneOfEach
beforeAll(async () => {
  client = await loggedIn(service().accounts.enterprise)
  resources = await makeOneOfEach(client)
})

const replay = (body: object = { from: 'earliest', to: 'latest' }, headers = {}) =>
  client.call<{ id: string }>('POST', `/v1/pipelines/${resources.pipelines}/replay`, body, headers)
/** A replay that has this status, whatever its task reports. */
async function job(status: string): Promise<string> {
  const { id } = (await replay()).body
  await eventually('the replay has ended', async () => (await client.call('GET', `/v1/jobs/${id}`)).body.status === 'finished')
  await setStatus('jobs', id, status)
  return id
}

describeAnswers(contractsOf(jobsApi), {
  client: () => client,
  resources: () => resources,
  cases: {
    listJobs: [[200, 'with a page', () => client.call('GET', '/v1/jobs')]],
    getJob: [[200, 'with the job', () => client.call('GET', `/v1/jobs/${resources.jobs}`)]],
    replayPipeline: [
      [202, 'with the job', () => replay()],
      [
        409,
        'to another body under a key that was used',
        async () => {
          const headers = { 'Idempotency-Key': unique('key') }
          await replay(undefined, headers)
          return replay({ from: 'latest', to: 'latest' }, headers)
        },
      ],
    ],
    cancelJob: [
      [200, 'for one that is cancelled', async () => client.call('POST', `/v1/jobs/${await job('cancelled')}/cancel`)],
      [
        202,
        'for one that is being cancelled',
        async () => {
          const id = await job('cancelling')
          // Its processor may say once more that it has finished.
          return eventually('it is being cancelled', async () => {
            await setStatus('jobs', id, 'cancelling')
            const answer = await client.call('POST', `/v1/jobs/${id}/cancel`)
            return answer.status !== 409 && answer
          })
        },
      ],
      [409, 'for one that has finished', async () => client.call('POST', `/v1/jobs/${await job('finished')}/cancel`)],
    ],
  },
})
