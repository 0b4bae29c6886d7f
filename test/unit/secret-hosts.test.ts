/** A secret that is for certain hosts is used in no config that names another one; what only looks like a host is none. */
import { expect, it } from 'vitest'
import { secretFault } from '../../services/control-plane/definitions/may-use.ts'
import type { SecretRow } from '../../services/control-plane/store/secrets.ts'

const secret: SecretRow = {
  id: 'sec_1',
  account_id: 'acc_1',
  name: 's',
  description: '',
  envelope: { v: 1, k: '', w: '', c: '' },
  allowed_connectors: null,
  allowed_hosts: ['redis.example.com', '*.kafka.example.com'],
  created_at: new Date(0),
  updated_at: new Date(0),
}
const password = { $secret: 's' }

it.each([
  ['a URL of the host', 'conn_redis', { url: 'rediss://redis.example.com:6379', stream: 'orders', password }],
  ['a stream with a colon in its key', 'conn_redis', { url: 'rediss://redis.example.com:6379', stream: 'orders:2026', password }],
  [
    'brokers of the domain',
    'conn_kafka',
    { brokers: ['a.kafka.example.com:9092', 'b.kafka.example.com:9092'], topic: 'a:1', sasl: { password } },
  ],
])('may be in a config with %s', (_, connector_id, config) => {
  expect(secretFault(secret, { connector_id, config })).toBeUndefined()
})

it.each([
  ['a URL of another host', 'conn_redis', { url: 'rediss://other.example.com:6379', stream: 'orders', password }, 'other.example.com'],
  [
    'one of its brokers elsewhere',
    'conn_kafka',
    { brokers: ['a.kafka.example.com:9092', 'evil:9092'], topic: 't', sasl: { password } },
    'evil',
  ],
  [
    'a registry elsewhere',
    'conn_kafka',
    { brokers: ['a.kafka.example.com:9092'], topic: 't', registry: { url: 'https://evil/' }, sasl: { password } },
    'evil',
  ],
])('may not be in a config with %s', (_, connector_id, config, host) => {
  expect(secretFault(secret, { connector_id, config })).toContain(`the config names ${host}`)
})
