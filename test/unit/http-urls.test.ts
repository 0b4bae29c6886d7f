/** Addresses of web services in configs, which are shown to everybody who may read a pipeline. */
import { describe, expect, it } from 'vitest'
import { HttpSinkConfig, HttpSourceConfig } from '../../shared/connectors/http/connector.ts'
import { HttpUrl } from '../../shared/connectors/http-url.ts'
import { KafkaSourceConfig } from '../../shared/connectors/kafka/connector.ts'
import { BucketSinkConfig } from '../../shared/connectors/storage-bucket/connector.ts'

const SECRET = { $secret: 'token' }
const oauth = (token_url: string) => ({ kind: 'oauth2', token_url, client_id: 'id', client_secret: SECRET })

describe('a URL with a user or a password', () => {
  const bad = 'https://ada:geheim@example.com/records'
  it.each([
    ['http sink', HttpSinkConfig.safeParse({ url: bad }), 'url'],
    ['http source', HttpSourceConfig.safeParse({ url: bad }), 'url'],
    ['http, of tokens', HttpSinkConfig.safeParse({ url: 'https://example.com', auth: oauth(bad) }), 'auth.token_url'],
    ['kafka, of its registry', KafkaSourceConfig.safeParse({ brokers: ['a:1'], topic: 't', registry: { url: bad } }), 'registry.url'],
    [
      'storage-bucket',
      BucketSinkConfig.safeParse({ bucket: 'demo', endpoint: bad, access_key: SECRET, secret_key: SECRET, format: 'ndjson' }),
      'endpoint',
    ],
  ])('is refused: %s', (_, { error }, path) => {
    const found = error?.issues.find((issue) => issue.path.join('.') === path)
    expect(found?.message).toBe('must not have a user or a password in it')
    expect(JSON.stringify(error)).not.toContain('geheim')
  })

  it.each(['https://ada@example.com', 'http://:geheim@127.0.0.1:1/'])('is refused with one of both: %s', (url) =>
    expect(HttpUrl.safeParse(url).success).toBe(false),
  )
  it.each(['https://example.com/a@b?c=d:e@f', 'http://[::1]:8080/'])('is another one than: %s', (url) =>
    expect(HttpUrl.safeParse(url).success).toBe(true),
  )
})
