/**
 * Every operation of the contract against everyone who may not use it: each kind of token that is none, each scope by itself and each one
 * missing, and the ids of another account in the path, the query and the body. A new operation is covered by being in the contract, and in
 * `BODIES` of `harness/one-of-each.ts` where its body must have something.
 */
import jwt from 'jsonwebtoken'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Contract } from '../../shared/api/contract.ts'
import { SCOPES, type Scope } from '../../shared/model/limits.ts'
import { anonymous, loggedIn, service, unique, type Client } from '../harness/client.ts'
import { CONTRACTS } from '../harness/contract-check.ts'
import { openAccount } from '../harness/operator.ts'
import { BODIES, makeOneOfEach, pathIn, type OneOfEach } from '../harness/one-of-each.ts'

const guarded = CONTRACTS.filter(({ isPublic }) => !isPublic)
const withId = guarded.filter(({ path }) => path.includes('/:id') && !path.startsWith('/connectors'))
const named = (contracts: readonly Contract[]) => contracts.map((contract) => [contract.id, contract] as const)

let owner: Client
let stranger: Client
/** In turns for the many requests with one scope: together they are more than one account may send within a minute. */
let bystanders: Client[]
/** The owner's resources. */
let ids: OneOfEach
/** The stranger's own. */
let own: OneOfEach
const clients = new Map<Client, Map<string, Client>>()

async function keyed(client: Client, scopes: readonly Scope[]): Promise<Client> {
  const { body } = await client.call<{ api_key: string; api_secret: string }>('POST', '/v1/keys', { name: unique('key'), scopes })
  return loggedIn(body)
}

/** A client of the account with these scopes, made once. */
async function withScopes(scopes: readonly Scope[], account = stranger): Promise<Client> {
  const known = clients.get(account) ?? new Map<string, Client>()
  clients.set(account, known)
  const key = scopes.toSorted().join()
  const client = known.get(key) ?? (await keyed(account, scopes))
  known.set(key, client)
  return client
}

const needs = ({ scope, alsoScopes = [] }: Contract): Scope[] => (scope === null ? [...alsoScopes] : [scope, ...alsoScopes])

beforeAll(async () => {
  owner = await loggedIn(service().accounts.other)
  stranger = await loggedIn(service().accounts.enterprise)
  bystanders = [(await openAccount('enterprise')).client, (await openAccount('enterprise')).client]
  ;[ids, own] = await Promise.all([makeOneOfEach(owner), makeOneOfEach(stranger)])
})

const ask = (client: Client, contract: Contract, of = ids) => client.call(contract.method, pathIn(of, contract), BODIES[contract.id])

/** Tokens that are none, by what is wrong with them. */
function wrongTokens(): [what: string, token: string | undefined][] {
  const [kid = '', secret = ''] = service().env.JWT_KEYS!.split(',')[0]!.split(':')
  const { api_key, account_id } = service().accounts.enterprise
  const sign = (key: string, more: object = {}, algorithm: 'HS256' | 'HS512' | 'none' = 'HS256') =>
    jwt.sign({ acc: account_id }, key, {
      algorithm,
      keyid: kid,
      subject: api_key,
      issuer: 'data-pipeline-service',
      audience: 'data-pipeline-service-api',
      expiresIn: 3600,
      ...more,
    })
  return [
    ['none', undefined],
    ['no token at all', 'x.y.z'],
    ['an expired one', sign(secret, { expiresIn: -1 })],
    ['one signed with another key', sign('0'.repeat(64))],
    ['one signed with a key that is unknown', sign(secret, { keyid: 'unknown' })],
    ['one of another issuer', sign(secret, { issuer: 'another' })],
    ['one for another service', sign(secret, { audience: 'another' })],
    ['one with another algorithm', sign(secret, {}, 'HS512')],
    ['one without a signature', sign('', {}, 'none')],
    ['one of a key that never was', sign(secret, { subject: 'key_0' })],
    [
      'one that names another account than its key',
      jwt.sign({ acc: service().accounts.other.account_id }, secret, {
        algorithm: 'HS256',
        keyid: kid,
        subject: api_key,
        issuer: 'data-pipeline-service',
        audience: 'data-pipeline-service-api',
        expiresIn: 3600,
      }),
    ],
  ]
}

describe('every operation', () => {
  it.each(named(guarded))('%s answers 401 to every token that is none', async (_id, contract) => {
    for (const [what, token] of wrongTokens()) {
      const { status, body } = await ask(anonymous(token), contract)
      expect([what, status, body.error?.code]).toEqual([what, 401, 'invalid_credentials'])
    }
  })

  it.each(named(guarded))('%s answers 403 to every key that lacks one of its scopes', async (_id, contract) => {
    for (const scope of needs(contract)) {
      const { body } = await ask(await withScopes(SCOPES.filter((each) => each !== scope)), contract, own)
      expect(body.error).toMatchObject({ status: 403, code: 'forbidden', message: `the API key lacks the scope ${scope}` })
    }
  })

  it.each(named(guarded))('%s answers 403 to every key with one other scope', async (_id, contract) => {
    if (contract.scope === null) return
    for (const scope of SCOPES) {
      if (needs(contract).length === 1 && contract.scope === scope) continue
      const bystander = bystanders[guarded.indexOf(contract) % bystanders.length]
      const { status } = await ask(await withScopes([scope], bystander), contract, own)
      expect([scope, status]).toEqual([scope, 403])
    }
  })

  it.each(named(withId))('%s answers 404 for what another account has', async (_id, contract) => {
    const { body } = await ask(await withScopes(needs(contract)), contract)
    expect(body.error).toMatchObject({ status: 404, code: 'not_found' })
  })

  it('leaves everything as it was for the owner', async () => {
    for (const kind of ['streams', 'pipelines', 'secrets', 'smartmodules', 'jobs'])
      expect((await owner.call('GET', `/v1/${kind}/${ids[kind]}`)).status).toBe(200)
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

describe('what another account has', () => {
  const pipeline = (more: object) => ({
    name: unique('pipeline'),
    source: { connector_id: 'conn_stream', config: { stream_id: own.streams } },
    processors: [],
    sink: { connector_id: 'conn_log', config: {} },
    ...more,
  })
  const stream = (id: string | undefined) => ({ connector_id: 'conn_stream', config: { stream_id: id } })

  it.each<[what: string, path: string, ask: () => [method: string, path: string, body: unknown]]>([
    ['its stream as a source', '/source/config/stream_id', () => ['POST', '/v1/pipelines', pipeline({ source: stream(ids.streams) })]],
    ['its stream as a sink', '/sink/config/stream_id', () => ['POST', '/v1/pipelines', pipeline({ sink: stream(ids.streams) })]],
    [
      'its SmartModule',
      '/processors/0/module_id',
      () => ['POST', '/v1/pipelines', pipeline({ processors: [{ module_id: ids.smartmodules, config: {} }] })],
    ],
    [
      'its SmartModule in a preview',
      '/processors/0/module_id',
      () => [
        'POST',
        `/v1/pipelines/${own.pipelines}/preview`,
        { from: 'earliest', processors: [{ module_id: ids.smartmodules, config: {} }] },
      ],
    ],
    [
      'its SmartModule in a change',
      '/processors/0/module_id',
      () => ['PATCH', `/v1/pipelines/${own.pipelines}`, { processors: [{ module_id: ids.smartmodules, config: {} }] }],
    ],
    [
      'its secret',
      '/sink/config/connection/$secret',
      () => [
        'POST',
        '/v1/pipelines',
        pipeline({ sink: { connector_id: 'conn_table', config: { table: 't', connection: { $secret: ids.secretName } } } }),
      ],
    ],
    [
      'its secret in a check',
      '/connection/$secret',
      () => ['POST', '/v1/connectors/table/check', { side: 'sink', config: { table: 't', connection: { $secret: ids.secretName } } }],
    ],
  ])('is unknown in a body: %s', async (_what, path, given) => {
    const { status, body } = await stranger.call<{ details?: { path: string }[] }>(...given())
    expect([200, 400]).toContain(status)
    expect((body.error?.details ?? body.details ?? []).map((detail) => detail.path)).toContain(path)
  })
})
