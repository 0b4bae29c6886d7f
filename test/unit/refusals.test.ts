/** Refused requests: how much a refusal says. */
import { expect, it } from 'vitest'
import { errorEnvelope, invalidRequest } from '../../services/control-plane/service-error.ts'

it('a refusal says little, however long the names are that are refused', () => {
  const faults = Array.from({ length: 100 }, (_, index) => ({ path: `/schema/${index}${'x'.repeat(100_000)}`, message: 'is no name' }))
  const error = invalidRequest(faults)
  expect(error.details?.[7]).toEqual({ path: `/schema/7${'x'.repeat(491)}…`, message: 'is no name' })
  expect(JSON.stringify(errorEnvelope(error, 'req_a')).length).toBeLessThan(64 << 10)
  expect(invalidRequest([{ path: '/a', message: 'is required' }]).details).toEqual([{ path: '/a', message: 'is required' }])
})
