/** Secrets are sealed and opened, rewrapped under other keys, and masked in texts. */
import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createMaskedValues, createSecretBox } from '../../shared/secrets/envelope.ts'

const [first, second] = ['a', 'b'].map((kid) => ({ kid, key: randomBytes(32) })) as [
  { kid: string; key: Buffer },
  { kid: string; key: Buffer },
]

describe('a secret', () => {
  it('opens only for its owner and with its own key, also after it was rewrapped under another', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (owner, value) => {
        const sealed = createSecretBox([first]).seal(owner, value)
        const both = createSecretBox([second, first])
        expect(both.open(owner, sealed)).toBe(value)
        expect(() => both.open(`${owner}x`, sealed)).toThrow()
        expect(() => createSecretBox([second]).open(owner, sealed)).toThrow('not among SECRETS_KEYS')
        const wrapped = both.rewrap(owner, sealed)!
        expect(createSecretBox([second]).open(owner, wrapped)).toBe(value)
        expect(both.rewrap(owner, wrapped)).toBe(undefined)
      }),
    )
  })

  it('is masked in every form in which an error may quote it', () => {
    const pem = '-----BEGIN KEY-----\nabcdef\n-----END KEY-----\n'
    for (const [value, text] of [
      [pem, `Headers.append: "Bearer ${pem.trim()}" is an invalid header value.`],
      [pem, JSON.stringify({ error: pem })],
      ['postgres://u:pa%ss@h/db', 'cannot use pa%ss'],
      ['postgres://u:p%40ssword@h/db', 'password "p@ssword" is wrong'],
      ['short', 'shorter secrets: short-and-longer'],
    ] as const) {
      const masked = createMaskedValues([value, 'short-and-longer']).mask(text)
      for (const part of ['abcdef', 'pa%ss', 'p@ssword', 'short-and', '-and-longer'])
        expect([masked, masked.includes(part)]).toEqual([masked, false])
    }
  })
})
