/** What the TypeScript client reads and makes without a server: numbers, events, signatures. */
import { describe, expect, it } from 'vitest'
import fc from 'fast-check'
import { createParser } from '../../clients/typescript/src/core/events.ts'
import { parseJson, signIngest, writeJson } from '../../clients/typescript/src/index.ts'

describe('the TypeScript client', () => {
  it('makes no object of a number that loses nothing but its form', () => {
    expect(parseJson('[12.50,120.0,1e3,0.1e-3,-0.10]')).toEqual([12.5, 120, 1000, 0.0001, -0.1])
  })

  it('keeps the digits of whole numbers in both directions', () => {
    const text = '{"a":9007199254740993,"b":[1,-9223372036854775808],"c":1.5,"d":1e400,"e":"9007199254740993"}'
    const value = parseJson(text)
    expect(value).toMatchObject({ a: 9_007_199_254_740_993n, b: [1, -9_223_372_036_854_775_808n], c: 1.5, e: '9007199254740993' })
    expect(writeJson({ a: 9_007_199_254_740_993n, b: 1 })).toBe('{"a":9007199254740993,"b":1}')
  })

  it('signs as Standard Webhooks has it', async () => {
    // The example of the specification.
    const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
    const at = new Date(1_614_265_330_000)
    const headers = await signIngest(secret, '{"test": 2432232314}', { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', at })
    expect(headers['webhook-signature']).toBe('v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=')
  })

  it('reads events however they are cut, with every kind of line end', () => {
    const text = 'event: a\r\ndata: {"x":1}\r\n\r\n: c\nid: 7\rdata:one\rdata: two\r\rdata\n\nevent: e\n\ndata: ü\n\n'
    const whole = createParser()(text)
    expect(whole).toEqual([
      { event: 'a', data: '{"x":1}', id: undefined },
      { event: 'message', data: 'one\ntwo', id: '7' },
      { event: 'message', data: '', id: '7' },
      { event: 'message', data: 'ü', id: '7' },
    ])
    fc.assert(
      fc.property(fc.array(fc.nat(text.length), { maxLength: 20 }), (cuts) => {
        const parse = createParser()
        const places = [0, ...cuts.toSorted((a, b) => a - b), text.length]
        expect(places.slice(1).flatMap((to, at) => parse(text.slice(places[at], to)))).toEqual(whole)
      }),
    )
  })
})
