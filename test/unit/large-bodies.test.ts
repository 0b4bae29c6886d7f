/** Requests with large bodies: how long one keeps the thread, and how many of an account are answered at once. */
import { Readable } from 'node:stream'
import { expect, it } from 'vitest'
import { ownCpuMs } from '../../services/control-plane/concurrency/bounded-work.ts'
import { withDigits } from '../../services/control-plane/http/exact-numbers.ts'
import { assertBounded, parseJsonBody } from '../../services/control-plane/http/json-body.ts'
import { validated } from '../../services/control-plane/middleware/validate.ts'
import { createPacer } from '../../services/control-plane/concurrency/pacing.ts'
import { createBodyReader } from '../../services/control-plane/http/read-body.ts'
import { planManifestContract } from '../../shared/api/manifests.ts'
import type { Contract } from '../../shared/api/contract.ts'
import { LIMITS } from '../../shared/model/limits.ts'
import { createPipelineContract } from '../../shared/api/pipelines.ts'
import { createStreamContract } from '../../shared/api/streams.ts'
import { limitFromNow } from '../harness/machine-speed.ts'
import { bestOf } from '../harness/times-of.ts'

type Context = Parameters<ReturnType<typeof createBodyReader>['holding']>[0]
const withBody = (rawBody: string) => ({ request: { rawBody } }) as unknown as Context
const LARGE = withBody('x'.repeat((1 << 20) + 1))
const AT_ONCE = 16

it('an account has sixteen large bodies in memory at once; small ones and those of others are not counted', async () => {
  const bodies = createBodyReader()
  const { promise, resolve } = Promise.withResolvers<string>()
  const held = Array.from({ length: AT_ONCE }, () => bodies.holding(LARGE, 'acc_m', () => promise))
  await expect(bodies.holding(LARGE, 'acc_m', () => promise)).rejects.toMatchObject({
    status: 429,
    headers: { 'Retry-After': '1' },
  })
  expect(await bodies.holding(withBody('{}'), 'acc_m', async () => 'small')).toBe('small')
  expect(await bodies.holding(LARGE, 'acc_v', async () => 'of another')).toBe('of another')
  resolve('done')
  await Promise.all(held)
  expect(await bodies.holding(LARGE, 'acc_m', async () => 'later')).toBe('later')
})

const named = (count: number, value: unknown, before = 'k') =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`${before}${index}`, value]))
const manifest = (more: object) => JSON.stringify({ manifest: { dps: 1, set: 'x', ...more } })
const pipeline = (more: object) =>
  JSON.stringify({ name: 'x', source: { connector_id: 'x', config: {} }, sink: { connector_id: 'x', config: {} }, ...more })
const LARGE_TEXT = (16 << 20) - 1000
/** As many as a body may have, then plain text. */
const escaped = (escape: string) => escape.repeat(LIMITS.body_escapes_max - 1).padEnd(LARGE_TEXT, 'x')

it.each<[string, Contract, string]>([
  ['long names that are none', planManifestContract, manifest({ pipelines: named(58_000, 1, `\u0000${'x'.repeat(230)}`) })],
  ['offsets that are none', createPipelineContract, pipeline({ start: { offsets: named(59_000, -1) } })],
  ['unknown members', createPipelineContract, pipeline(named(59_000, 1))],
  ['fields that are none', createStreamContract, JSON.stringify({ name: 'x', schema: named(43_000, '\0', '\0') })],
  ['a config of many values', createPipelineContract, pipeline({ sink: { connector_id: 'x', config: named(59_000, 1.5) } })],
  [
    'tables, and a number of sixteen digits',
    createPipelineContract,
    pipeline({ processors: [{ module_id: 'x', config: { digits: 1234567890123456, ...named(12_000, { a: 1 }) } }] }),
  ],
  ['escaped quotes', planManifestContract, `{"manifest":{"a":"${escaped('\\"')}"}}`],
  ['escapes that may be a name', planManifestContract, `{"manifest":{"a":"${escaped('\\u0050xxxxxxxxxx')}"}}`],
])('a body within the limits keeps the thread for less than a tenth of a second: %s', async (_name, contract, text) => {
  expect(text.length).toBeLessThan(contract.bodyBytesMax ?? 1 << 20)
  let body: unknown
  // As `readBody` does: others have their turn between them.
  const steps = [
    () => assertBounded(text),
    () => (body = parseJsonBody(text)),
    () => (body = withDigits(text, body, contract.exactMembers)),
    () => validated(contract.request.body!, body),
  ]
  const limit = limitFromNow(100)
  const times: number[] = []
  // What is wrong with them is wrong by the contract: the steps before it do all their work.
  try {
    for (const step of steps) times.push(await bestOf(step))
  } catch (error) {
    expect(error).toMatchObject({ status: 400 })
    expect(times).toHaveLength(steps.length - 1)
    expect(await bestOf(() => expect(steps[times.length]).toThrow())).toBeLessThan(limit())
  }
  expect(Math.max(...times)).toBeLessThan(limit())
})

/** As much of Koa's as is read. */
function received(text: string): Context {
  const headers: Record<string, string> = { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(text)) }
  const is = () => 'application/json'
  return {
    req: Object.assign(Readable.from([Buffer.from(text)]), { headers }),
    get: (name: string) => headers[name.toLowerCase()] ?? '',
    is,
    request: { length: Buffer.byteLength(text), charset: '', is },
  } as unknown as Context
}

it('an account whose body took long rests before its next large one; small ones and those of others do not wait', async () => {
  const bodies = createBodyReader(createPacer({ times: 20 }))
  const busy = () => {
    for (const from = ownCpuMs(); ownCpuMs() - from < 50;);
    return 'validated'
  }
  const text = JSON.stringify({ x: 'x'.repeat(20_000) })
  const timed = async (account: string, body: string) => {
    const from = performance.now()
    await bodies.read(received(body), planManifestContract, account, () => {})
    return performance.now() - from
  }
  const ctx = received(text)
  expect(await bodies.read(ctx, planManifestContract, 'acc_m', busy)).toEqual({ records: undefined, input: 'validated' })
  expect(ctx.request).toMatchObject({ body: JSON.parse(text), rawBody: text })
  const [own, small, another] = await Promise.all([timed('acc_m', text), timed('acc_m', '{}'), timed('acc_v', text)])
  expect(small).toBeLessThan(own)
  expect(another).toBeLessThan(own)
  expect(own).toBeGreaterThan(100)
})
