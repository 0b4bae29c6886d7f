/** Two accounts on the operator's warehouse and bucket: neither sees nor disturbs the other, not even by SQL and S3 directly. */
import { GetObjectCommand, ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { accountDefaultsOf, accountWarehouseOf, warehouseRoleOf } from '../../shared/connectors/account-defaults.ts'
import { openObjectStore } from '../../shared/connectors/storage-bucket/open-store.ts'
import { ensureAccountSchema } from '../../shared/connectors/table/account-schema.ts'
import { service, unique } from '../harness/client.ts'
import { contextFor } from '../harness/conformance.ts'

const accounts = [unique('acc').toLowerCase(), unique('acc').toLowerCase()] as const
const clients: pg.Client[] = []
let first: pg.Client
let second: pg.Client
let operator: pg.Client

async function connected(connectionString: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  clients.push(client)
  return client
}

beforeAll(async () => {
  const { warehouseUrl } = service()
  await Promise.all([...accounts, ...accounts].map((account) => ensureAccountSchema(warehouseUrl, account)))
  operator = await connected(warehouseUrl)
  first = await connected(accountWarehouseOf(warehouseUrl, accounts[0]))
  second = await connected(accountWarehouseOf(warehouseUrl, accounts[1]))
})
afterAll(async () => {
  await Promise.all([first?.end(), second?.end()])
  for (const account of accounts) {
    const role = operator.escapeIdentifier(warehouseRoleOf(account))
    await operator.query(`DROP OWNED BY ${role} CASCADE`)
    await operator.query(`DROP SCHEMA IF EXISTS ${role}; DROP ROLE ${role}`)
  }
  await operator.end()
})

const refusal = (client: pg.Client, sql: string): Promise<string> =>
  client.query(sql).then(
    () => 'allowed',
    (error: pg.DatabaseError) => error.code ?? error.message,
  )
/** Codes of Postgres: no privilege; the object does not exist for this role. */
const REFUSED = ['42501', '42P01']

describe('the warehouse', () => {
  it('gives each account a schema of its own, where tables without a schema go', async () => {
    await first.query('CREATE TABLE dps_positions (place text)')
    await first.query(`INSERT INTO dps_positions VALUES ('of the first')`)
    await second.query('CREATE TABLE dps_positions (place text)')
    expect((await second.query('SELECT * FROM dps_positions')).rows).toEqual([])
    expect((await first.query('SELECT * FROM dps_positions')).rows).toEqual([{ place: 'of the first' }])
  })

  it('lets no account read, write or create anything in another’s schema, or in public', async () => {
    await operator.query('CREATE TABLE IF NOT EXISTS public.of_the_operator (n int)')
    const schema = operator.escapeIdentifier(warehouseRoleOf(accounts[0]))
    for (const sql of [
      `SELECT * FROM ${schema}.dps_positions`,
      `INSERT INTO ${schema}.dps_positions VALUES ('x')`,
      `DROP TABLE ${schema}.dps_positions`,
      `CREATE TABLE ${schema}.mine (n int)`,
      'CREATE TABLE public.mine (n int)',
      'SELECT * FROM public.of_the_operator',
      'CREATE SCHEMA mine',
      'CREATE ROLE mine',
      `ALTER ROLE ${schema} PASSWORD 'x'`,
      `SET ROLE ${schema}`,
      `SELECT pg_read_file('/etc/passwd')`,
      'SELECT * FROM pg_authid',
      `COPY (SELECT 1) TO PROGRAM 'true'`,
      `SELECT pg_create_logical_replication_slot('mine', 'pgoutput')`,
    ])
      expect([sql, REFUSED.includes(await refusal(second, sql))]).toEqual([sql, true])
    await operator.query('DROP TABLE public.of_the_operator')
  })

  it('knows the role by a password that only the operator’s connection string gives', async () => {
    const url = new URL(accountWarehouseOf(service().warehouseUrl, accounts[0]))
    url.password = new URL(accountWarehouseOf(service().warehouseUrl, accounts[1])).password
    const isLetIn = (connectionString: string) =>
      connected(connectionString).then(
        async (client) => client.end().then(() => true),
        () => false,
      )
    // Some images of Postgres trust every connection from their own host; then nothing can be seen here.
    const anyPassword = new URL(service().warehouseUrl)
    anyPassword.password = 'no such password'
    expect(await isLetIn(url.toString())).toBe(await isLetIn(anyPassword.toString()))
  })

  it('is prepared again by an operator’s role that is no superuser, and may only create roles and schemas', async () => {
    const name = unique('maker').replaceAll('-', '_').toLowerCase()
    const url = new URL(service().warehouseUrl)
    await operator.query(`CREATE ROLE ${name} LOGIN CREATEROLE PASSWORD 'maker'`)
    await operator.query(`GRANT CREATE ON DATABASE ${operator.escapeIdentifier(url.pathname.slice(1))} TO ${name}`)
    ;[url.username, url.password] = [name, 'maker']
    const account = unique('acc').toLowerCase()
    for (let time = 0; time < 2; time++) await ensureAccountSchema(url.toString(), account)
    const own = await connected(accountWarehouseOf(url.toString(), account))
    expect((await own.query('SELECT current_schema() AS here')).rows).toEqual([{ here: warehouseRoleOf(account) }])
    await own.end()
    const role = operator.escapeIdentifier(warehouseRoleOf(account))
    await operator.query(`DROP OWNED BY ${role} CASCADE`)
    await operator.query(`DROP SCHEMA IF EXISTS ${role}`)
    await operator.query(`DROP ROLE ${role}`)
    await operator.query(`DROP OWNED BY ${name} CASCADE`)
    await operator.query(`DROP ROLE ${name}`)
  })
})

describe('preparing a schema', () => {
  it('waits for no lock that an account’s session can hold', async () => {
    for (const name of [warehouseRoleOf(accounts[0]), operator.escapeIdentifier(warehouseRoleOf(accounts[0]))])
      await second.query('SELECT pg_advisory_lock(hashtext($1))', [name])
    await ensureAccountSchema(service().warehouseUrl, accounts[0])
    await second.query('SELECT pg_advisory_unlock_all()')
  })
})

describe('the bucket', () => {
  const bucket = () => service().bucket
  const storeOf = (account: string) => {
    const { defaults } = contextFor()
    const own = accountDefaultsOf({ ...defaults, per_account: { warehouse: true, bucket: true } }, account)
    return openObjectStore({ bucket: bucket().name }, contextFor({ defaults: own }))
  }
  const listed = async (account: string, prefix: string) => {
    const store = await storeOf(account)
    const keys: string[] = []
    for await (const page of store.list(prefix, AbortSignal.timeout(120_000))) keys.push(...page.map(({ key }) => key))
    store.close()
    return keys
  }

  it('shows each account its own objects, under a prefix that it neither sees nor leaves', async () => {
    const signal = AbortSignal.timeout(120_000)
    const store = await storeOf(accounts[0])
    expect(await store.putNew('a/one.json', Buffer.from('{}'), {}, signal)).toBe(true)
    expect(await listed(accounts[0], '')).toEqual(['a/one.json'])
    for (const prefix of ['', 'a/', `${accounts[0]}/`, '/']) expect(await listed(accounts[1], prefix)).toEqual([])
    const other = await storeOf(accounts[1])
    expect(await other.metadataOf('a/one.json', signal)).toBeUndefined()
    // The store of these tests is a folder underneath, and resolves such keys.
    const outside = `../${accounts[0]}/a/one.json`
    await expect(other.metadataOf(outside, signal)).rejects.toThrow(/part "\." or "\.\."/)
    await expect(other.putNew(outside, Buffer.from('x'), {}, signal)).rejects.toThrow(/part/)
    await expect(other.read({ key: outside, etag: '', size: 2, modifiedAt: 0 }, 0, signal)).rejects.toThrow(/part/)
    await expect(listed(accounts[1], `../${accounts[0]}/`)).rejects.toThrow(/part/)
    // The same key of another account is another object.
    expect(await other.putNew('a/one.json', Buffer.from('[]'), {}, signal)).toBe(true)
    const { endpoint, access_key, secret_key, name } = bucket()
    const byHand = new S3Client({
      endpoint,
      region: 'us-east-1',
      forcePathStyle: true,
      credentials: { accessKeyId: access_key, secretAccessKey: secret_key },
    })
    for (const [account, body] of [
      [accounts[0], '{}'],
      [accounts[1], '[]'],
    ] as const) {
      const { Contents: contents } = await byHand.send(new ListObjectsV2Command({ Bucket: name, Prefix: `${account}/` }))
      expect(contents?.map(({ Key }) => Key)).toEqual([`${account}/a/one.json`])
      const { Body: found } = await byHand.send(new GetObjectCommand({ Bucket: name, Key: `${account}/a/one.json` }))
      expect(await found!.transformToString()).toBe(body)
    }
    byHand.destroy()
    store.close()
    other.close()
  })
})
