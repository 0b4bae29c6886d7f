/** The operator's secrets: a check of a connector gets only what its config uses, and no text of a connector shows one. */
import { expect, it } from 'vitest'
import { createConnectorContext } from '../../shared/connectors/context.ts'
import { limitMs } from '../harness/machine-speed.ts'
import { bestOf } from '../harness/times-of.ts'
import type { OperatorDefaults } from '../../shared/connectors/connector.ts'
import { defaultsOfEndpoint } from '../../shared/connectors/operator-secrets.ts'

const open = { addresses: 'any', per_account: { warehouse: false, bucket: false }, bucket_folders: ['/folder'] } as const
const bucket = { endpoint: 'http://bucket', region: 'r', access_key: 'key', secret_key: 'bucket-secret' }
const defaults: OperatorDefaults = { ...open, bucket_folders: ['/folder'], bucket, warehouse_url: 'postgres://warehouse-secret' }
const of = (connector_id: string, config: Record<string, unknown> = {}) => defaultsOfEndpoint(defaults, { connector_id, config })

it('go to the one connector that uses them', () => {
  expect(of('conn_http')).toEqual(open)
  expect(of('conn_storage_bucket')).toEqual({ ...open, bucket })
  expect(of('conn_table')).toEqual({ ...open, warehouse_url: 'postgres://warehouse-secret' })
  expect(of('conn_table', { connection: { $secret: 'own' } })).toEqual(open)
})

const contextWith = (secrets: Record<string, string>) =>
  createConnectorContext({
    defaults,
    runId: 'run',
    origin: 'origin',
    fields: undefined,
    secretOf: (name) => secrets[name],
    log: () => {},
    now: () => 0,
  })

it('are masked in what a connector says', () => {
  const { mask } = contextWith({})
  expect(mask('bucket-secret at postgres://warehouse-secret')).not.toContain('secret')
})

it('stay masked, with the newest tokens, and quickly, however many tokens a server has given out', async () => {
  const { learn, mask, secret } = contextWith({ password: 'account-secret' })
  const value = secret({ $secret: 'password' })
  learn(value)
  for (let n = 0; n < 20_000; n++) learn(`token-${n}-end`)
  const text = `bucket-secret, ${value}, token-19999-end, token-19998-end; ${'x'.repeat(1000)}`
  expect(mask(text)).toBe(`***, ***, ***, ***; ${'x'.repeat(1000)}`)
  expect(await bestOf(() => mask(text))).toBeLessThan(limitMs(5))
})
