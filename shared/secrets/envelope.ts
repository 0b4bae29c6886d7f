/**
 * Secrets at rest: a value is encrypted under its own key (AES-256-GCM, NIST SP 800-38D), and that key under one of the operator's keys.
 * The operator's keys therefore rotate by rewrapping, without decrypting a value. The secret's name is authenticated too: an envelope
 * stored under another name does not open.
 */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { z } from 'zod'

/**
 * An encrypted secret. `k`: id of the operator's key; `w`: the wrapped key; `c`: the value. `w` and `c` are nonce, tag and ciphertext in
 * base64.
 */
export const Envelope = z.object({ v: z.literal(1), k: z.string(), w: z.string(), c: z.string() })
/** An encrypted secret. */
export type Envelope = z.infer<typeof Envelope>

/** The operator's keys, 32 bytes each. The first one wraps, all of them unwrap. */
export type SecretKeys = readonly { kid: string; key: Buffer }[]

/** Encrypts and decrypts secrets. An `owner` is the account and the name of a secret (`ownerOf`). */
export type SecretBox = {
  /** False without keys: then nothing can be sealed. */
  isEnabled: boolean
  seal(owner: string, value: string): Envelope
  /** Returns the value. Throws an Error when the key is unknown, or the envelope has another owner. */
  open(owner: string, envelope: Envelope): string
  /** Returns the envelope wrapped under the first key; undefined if it already is. */
  rewrap(owner: string, envelope: Envelope): Envelope | undefined
}

const NONCE_BYTES = 12
const TAG_BYTES = 16

function encrypt(key: Buffer, owner: string, plain: Buffer): string {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES })
  cipher.setAAD(Buffer.from(owner))
  const text = Buffer.concat([cipher.update(plain), cipher.final()])
  return Buffer.concat([nonce, cipher.getAuthTag(), text]).toString('base64')
}

function decrypt(key: Buffer, owner: string, sealed: string): Buffer {
  const bytes = Buffer.from(sealed, 'base64')
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES })
  decipher.setAAD(Buffer.from(owner))
  decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES))
  return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()])
}

/** Returns a box that encrypts with the first of the keys and decrypts with all of them. */
export function createSecretBox(keys: SecretKeys): SecretBox {
  function keyOf(kid: string): Buffer {
    const found = keys.find((each) => each.kid === kid)
    if (!found) throw new Error(`secrets are encrypted with the key "${kid}", which is not among SECRETS_KEYS`)
    return found.key
  }
  function first() {
    const [newest] = keys
    if (!newest) throw new Error('SECRETS_KEYS is not set: the operator has not enabled secrets')
    return newest
  }
  return {
    isEnabled: keys.length > 0,
    seal(owner, value) {
      const own = randomBytes(32)
      const { kid, key } = first()
      return { v: 1, k: kid, w: encrypt(key, owner, own), c: encrypt(own, owner, Buffer.from(value, 'utf8')) }
    },
    open: (owner, { k, w, c }) => decrypt(decrypt(keyOf(k), owner, w), owner, c).toString('utf8'),
    rewrap(owner, envelope) {
      const { kid, key } = first()
      if (envelope.k === kid) return undefined
      return { ...envelope, k: kid, w: encrypt(key, owner, decrypt(keyOf(envelope.k), owner, envelope.w)) }
    },
  }
}

/** Returns the owner of a secret, for `SecretBox`. */
export const ownerOf = (accountId: string, name: string): string => `${accountId}/${name}`

/** Shorter values are not masked, because they are too common in ordinary text. */
const MASKED_FROM = 4

/** Returns the decoded password of a connection string; undefined if there is none. */
function passwordIn(value: string): string | undefined {
  const password = URL.canParse(value) ? new URL(value).password : ''
  try {
    return decodeURIComponent(password) || undefined
  } catch {
    return password
  }
}

/** Forms in which a value may appear: unchanged, trimmed, in JSON, in a URL, and each of its lines and its password alone. */
function formsOf(value: string): string[] {
  const password = passwordIn(value)
  const parts = [value, value.trim(), ...value.split(/[\r\n]+/).map((line) => line.trim()), ...(password === undefined ? [] : [password])]
  return parts.flatMap((part) => [part, JSON.stringify(part).slice(1, -1), encodeURIComponent(part)])
}

/** Values that no text may show. Their forms are made once, when a value is added. */
export type MaskedValues = {
  /** False where it was there. */
  add(value: string): boolean
  drop(value: string): void
  /** The text with every value, in any of its forms, replaced by `***`. Longer forms go first, so that none remains in part. */
  mask(text: string): string
}

/** Masks these values, and those that are added later. */
export function createMaskedValues(values: Iterable<string>): MaskedValues {
  const formsBy = new Map<string, string[]>()
  let sorted: string[] | undefined
  function add(value: string): boolean {
    if (formsBy.has(value)) return false
    formsBy.set(
      value,
      formsOf(value).filter(({ length }) => length >= MASKED_FROM),
    )
    sorted = undefined
    return true
  }
  for (const value of values) add(value)
  return {
    add,
    drop(value) {
      if (formsBy.delete(value)) sorted = undefined
    },
    mask(text) {
      sorted ??= [...new Set([...formsBy.values()].flat())].sort((a, b) => b.length - a.length)
      return sorted.reduce((masked, form) => masked.replaceAll(form, '***'), text)
    },
  }
}
