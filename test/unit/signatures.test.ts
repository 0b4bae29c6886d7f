/** Signatures of the Standard Webhooks form, as the official library makes them. */
import fc from 'fast-check'
import { Webhook } from 'standardwebhooks'
import { describe, expect, it } from 'vitest'
import { isSigned } from '../../services/control-plane/ingest/signatures.ts'

const NOW = 1_763_800_000_000

const check = (body: string, headers: Record<string, string>, secrets: string[], nowMs = NOW) =>
  isSigned(Buffer.from(body), (name) => headers[name] ?? '', { scheme: 'standard' }, secrets, nowMs)

const headersOf = (id: string, at: number, signature: string) => ({
  'webhook-id': id,
  'webhook-timestamp': String(Math.floor(at / 1000)),
  'webhook-signature': signature,
})

const secretOf = (bytes: Uint8Array) => `whsec_${Buffer.from(bytes).toString('base64')}`
const anySecret = fc.uint8Array({ minLength: 24, maxLength: 64 }).map(secretOf)

describe('a standard signature', () => {
  it('is accepted as the official library makes it, and nothing that differs from it', () => {
    fc.assert(
      fc.property(anySecret, fc.string(), fc.uuid(), fc.string({ minLength: 1 }), (secret, body, id, more) => {
        const signature = new Webhook(secret).sign(id, new Date(NOW), body)
        expect(check(body, headersOf(id, NOW, signature), [secret])).toBe(true)
        expect(check(body + more, headersOf(id, NOW, signature), [secret])).toBe(false)
        expect(check(body, headersOf(`${id}x`, NOW, signature), [secret])).toBe(false)
        expect(check(body, headersOf(id, NOW + 1000, signature), [secret])).toBe(false)
        expect(check(body, headersOf('', NOW, signature), [secret])).toBe(false)
      }),
    )
  })

  it('is accepted among others, under either of two secrets, for five minutes', () => {
    fc.assert(
      fc.property(anySecret, anySecret, fc.string(), (now, before, body) => {
        fc.pre(now !== before)
        const old = new Webhook(before).sign('m', new Date(NOW), body)
        const all = `v1a,zzz ${new Webhook(secretOf(Buffer.alloc(32, 1))).sign('m', new Date(NOW), body)} ${old}`
        expect(check(body, headersOf('m', NOW, all), [now, before])).toBe(true)
        expect(check(body, headersOf('m', NOW, all), [now])).toBe(false)
        expect(check(body, headersOf('m', NOW, all), [before], NOW + 299_000)).toBe(true)
        expect(check(body, headersOf('m', NOW, all), [before], NOW + 302_000)).toBe(false)
        expect(check(body, headersOf('m', NOW, all), [before], NOW - 302_000)).toBe(false)
      }),
    )
  })
})
