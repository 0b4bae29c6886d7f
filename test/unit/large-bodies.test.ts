/** Requests with large bodies: how many of an account are answered at once, each with its body in memory. */
import { expect, it } from 'vitest'
import { createBodyReader } from '../../services/control-plane/read-body.ts'

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
