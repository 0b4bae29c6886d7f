/** Manifests: what each operation answers. */
import { beforeAll, expect } from 'vitest'
import * as manifestsApi from '../../../shared/api/manifests.ts'
import { describeAnswers } from '../../harness/answers.ts'
import { loggedIn, service, unique, type Client } from '../../harness/client.ts'
import { contractsOf } from '../../harness/contract-check.ts'
import { moduleBody } from '../../harness/one-of-each.ts'
import { setBytes } from '../../harness/rows.ts'

let client: Client
beforeAll(async () => {
  client = await loggedIn(service().accounts.enterprise)
})

const manifest = (set = unique('set')) => ({ dps: 1, set, streams: { [`${set} a`]: { schema: { a: 'string' } } } })
const apply = (body: object) => client.call('POST', '/v1/manifests/apply', body)

describeAnswers(contractsOf(manifestsApi), {
  client: () => client,
  resources: () => ({}),
  cases: {
    planManifest: [[200, 'with what would change', () => client.call('POST', '/v1/manifests/plan', { manifest: manifest() })]],
    applyManifest: [
      [200, 'with what was changed', () => apply({ manifest: manifest() })],
      [409, 'to the hash of another plan', () => apply({ manifest: manifest(), hash: 'x' })],
    ],
    listManifests: [
      [
        200,
        'with the sets and how many members each has',
        async () => {
          const set = unique('set')
          await apply({ manifest: manifest(set) })
          const answer = await client.call<{ sets: object[] }>('GET', '/v1/manifests')
          expect(answer.body.sets).toContainEqual({ set, streams: 1, smartmodules: 0, pipelines: 0 })
          await client.call('POST', '/v1/manifests/apply', { manifest: { dps: 1, set }, prune: true })
          const { body } = await client.call<{ sets: { set: string }[] }>('GET', '/v1/manifests')
          expect(body.sets.map((each) => each.set)).not.toContain(set)
          return answer
        },
      ],
    ],
    getManifest: [
      [
        200,
        'with the set',
        async () => {
          const set = unique('set')
          await apply({ manifest: manifest(set) })
          return client.call('GET', `/v1/manifests/${set}`)
        },
      ],
      [
        409,
        'where the set is larger than a manifest may be',
        async () => {
          const set = unique('large')
          const { name, wasm_binary } = await moduleBody()
          await apply({ manifest: { dps: 1, set, smartmodules: { [name]: { wasm_binary } } } })
          await setBytes(name, 13 << 20)
          return client.call('GET', `/v1/manifests/${set}`)
        },
      ],
    ],
  },
})
