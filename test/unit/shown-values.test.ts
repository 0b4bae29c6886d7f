/** Values as the API shows them: what there is no room for is neither shown nor decoded. */
import { expect, it } from 'vitest'
import { shownBytes } from '../../services/control-plane/shown/bytes.ts'
import { showValue } from '../../services/control-plane/shown/records.ts'

it('counts what a value becomes when it is decoded, and decodes no more than there is room for', () => {
  const room = shownBytes()
  let decodedBytes = 0
  const decode = () => {
    const json = Buffer.from(JSON.stringify({ text: 'x'.repeat(1 << 20) }))
    decodedBytes += json.length
    return json
  }
  const shown = Array.from({ length: 100 }, () => showValue(Buffer.from([0, 0, 0, 0, 1, 9]), room, decode)!)
  const whole = shown.filter(({ json }) => json !== null)
  expect([whole.length > 3, whole.length < 10]).toEqual([true, true])
  expect(shown.slice(whole.length).every((each) => 'truncated' in each)).toBe(true)
  expect(decodedBytes).toBeLessThan(10 << 20)
})
