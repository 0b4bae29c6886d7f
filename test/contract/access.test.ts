/**
 * Every operation of the contract, against everyone who may not use it: no token, a revoked one, a key without the operation's scope, and
 * the ids of another account. A new operation is covered by being in the contract.
 */
import { beforeAll, describe, expect, it } from 'vitest'
import type { Contract } from '../../shared/api/operation.ts'
import { SCOPES, type Scope } from '../../shared/model/limits.ts'
import { compileSmartModule } from '../../shared/smartmodule/compile.ts'
import { anonymous, loggedIn, service, unique, type Client } from '../harness/client.ts'
import { CONTRACTS } from '../harness/contract-check.ts'
import { createPipeline, createStream } from '../harness/pipelines.ts'

const guarded = CONTRACTS.filter(({ isPublic }) => !isPublic)
const withId = guarded.filter(({ path }) => path.includes('/:id') && !path.startsWith('/connectors'))

/** Bodies that are right in themselves, so that nothing but access can refuse them. */
const BODIES: Record<string, unknown> = {
  checkConnector: { config: {} },
  validateConnector: { config: {} },
  redriveDeadLetters: {},
  replayPipeline: { from: 'earliest', to: 'latest' },
  previewPipeline: { from: 'earliest' },
  resetOffsets: { start: 'earliest' },
  updatePipeline: { description: 'x' },
  updateSecret: { value: 'x' },
  updateStream: { description: 'x' },
  writeStreamData: { records: [{ a: 'x' }] },
}

const QUERIES: Record<string, string> = { explainRecord: '?partition=0&offset=0' }

let owner: Client
let stranger: Client
const ids: Record<string, string> = {}
const byScope = new Map<Scope, { only: Client; without: Client }>()

async function keyed(client: Client, scopes: readonly Scope[]): Promise<Client> {
  const { body } = await client.call<{ api_key: string; api_secret: string }>('POST', '/v1/keys', { name: unique('key'), scopes })
  return loggedIn(body)
}

beforeAll(async () => {
  owner = await loggedIn(service().accounts.other)
  stranger = await loggedIn(service().accounts.enterprise)
  const [source, sink] = [await createStream(owner, { a: 'string' }), await createStream(owner, { a: 'string' })]
  ids.streams = source.id
  ids.pipelines = await createPipeline(owner, source.id, [], sink.id, { autostart: false })
  const made = async (path: string, body: unknown) => (await owner.call<{ id: string }>('POST', `/v1/${path}`, body)).body.id
  ids.keys = await made('keys', { name: unique('key'), scopes: ['streams:read'] })
  ids.secrets = await made('secrets', { name: unique('secret'), value: 'x' })
  const binary = await compileSmartModule(`import { Record } from 'dps'\nexport function filter(record: Record): bool { return true }`)
  const config = { input_format: 'json', output_format: 'json' }
  const wasm_binary = Buffer.from(binary).toString('base64')
  ids.smartmodules = await made('smartmodules', { name: unique('module'), wasm_binary, config })
  await owner.call('POST', `/v1/streams/${source.id}/data`, { records: [{ a: 'x' }] })
  const job = await owner.call<{ job_id: string }>('POST', `/v1/pipelines/${ids.pipelines}/replay`, BODIES.replayPipeline)
  ids.jobs = job.body.job_id
  for (const scope of SCOPES)
    byScope.set(scope, {
      only: await keyed(stranger, [scope]),
      without: await keyed(
        stranger,
        SCOPES.filter((each) => each !== scope),
      ),
    })
})

/** The operation's path, with the ids of the owner's resources. */
function pathOf({ id: operation, path }: Contract): string {
  const room = path.split('/')[1]!
  const id = room === 'connectors' ? 'conn_stream' : ids[room]
  return `/v1${path.replace(':dead_letter_id', '0-0').replace(':id', id ?? 'unknown')}${QUERIES[operation] ?? ''}`
}

const ask = (client: Client, contract: Contract) => client.call(contract.method, pathOf(contract), BODIES[contract.id])

describe('every operation', () => {
  it.each(guarded.map((contract) => [contract.id, contract] as const))('%s answers 401 without a token', async (_id, contract) => {
    expect((await ask(anonymous(), contract)).status).toBe(401)
  })

  it.each(guarded.map((contract) => [contract.id, contract] as const))(
    '%s answers 403 to a key without its scope',
    async (_id, contract) => {
      const { without } = byScope.get(contract.scope!)!
      expect((await ask(without, contract)).body.error).toMatchObject({ status: 403, code: 'forbidden' })
    },
  )

  it.each(withId.map((contract) => [contract.id, contract] as const))(
    '%s answers 404 for what another account has',
    async (_id, contract) => {
      const { only } = byScope.get(contract.scope!)!
      expect((await ask(only, contract)).body.error).toMatchObject({ status: 404, code: 'not_found' })
    },
  )

  it('leaves everything as it was for the owner', async () => {
    for (const room of ['streams', 'pipelines', 'secrets', 'smartmodules', 'jobs'])
      expect((await owner.call('GET', `/v1/${room}/${ids[room]}`)).status).toBe(200)
    const { body } = await owner.call<{ keys: { id: string }[] }>('GET', '/v1/keys?page_size=100')
    expect(body.keys.map(({ id }) => id)).toContain(ids.keys)
  })

  it('answers 401 to a revoked key within 2.5 s', async () => {
    const { body } = await stranger.call<{ id: string; api_key: string; api_secret: string }>('POST', '/v1/keys', {
      name: unique('key'),
      scopes: SCOPES,
    })
    const revoked = await loggedIn(body)
    await stranger.call('DELETE', `/v1/keys/${body.id}`)
    await new Promise((resolve) => setTimeout(resolve, 2500))
    for (const contract of guarded) expect([contract.id, (await ask(revoked, contract)).status]).toEqual([contract.id, 401])
  })
})
