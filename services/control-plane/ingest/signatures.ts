/** The signature schemes of webhook senders: which bytes are signed, and in which header the signature is. */
import { createHmac, timingSafeEqual } from 'node:crypto'
import type { WebhookConfig } from '../../../shared/connectors/webhook/connector.ts'

/** A request header's value, '' if it is missing. */
type HeaderOf = (name: string) => string
/** The signed bytes, and signatures of which one must match; undefined if the signed timestamp is missing or too old. */
type Signed = { bytes: readonly (string | Buffer)[]; signatures: string[] } | undefined

type Scheme = WebhookConfig['scheme']

/** Refuses replayed requests; Stripe and Slack recommend five minutes. */
const TOLERANCE_SECONDS = 300

const isRecent = (seconds: string, nowMs: number): boolean =>
  /^\d{1,12}$/.test(seconds) && Math.abs(nowMs / 1000 - Number(seconds)) <= TOLERANCE_SECONDS

const SCHEMES: Record<Scheme, (body: Buffer, headerOf: HeaderOf, header: string | undefined, nowMs: number) => Signed> = {
  hmac: (body, headerOf, header = 'X-Signature-256') => ({ bytes: [body], signatures: [headerOf(header).replace(/^sha256=/i, '')] }),
  // https://docs.github.com/webhooks/using-webhooks/validating-webhook-deliveries
  github: (body, headerOf, header = 'X-Hub-Signature-256') => ({
    bytes: [body],
    signatures: [/^sha256=(.*)$/.exec(headerOf(header))?.[1] ?? ''],
  }),
  // https://docs.stripe.com/webhooks#verify-manually: t=<seconds>,v1=<signature>, several of them while a secret is rolled
  stripe: (body, headerOf, header = 'Stripe-Signature', nowMs) => {
    const parts = headerOf(header)
      .split(',')
      .map((part) => part.trim().split('=', 2) as [string, string?])
    const seconds = parts.find(([name]) => name === 't')?.[1] ?? ''
    const signatures = parts.flatMap(([name, value]) => (name === 'v1' && value ? [value] : []))
    return isRecent(seconds, nowMs) ? { bytes: [`${seconds}.`, body], signatures } : undefined
  },
  // https://docs.slack.dev/authentication/verifying-requests-from-slack
  slack: (body, headerOf, header = 'X-Slack-Signature', nowMs) => {
    const seconds = headerOf('X-Slack-Request-Timestamp')
    const signature = /^v0=(.*)$/.exec(headerOf(header))?.[1] ?? ''
    return isRecent(seconds, nowMs) ? { bytes: [`v0:${seconds}:`, body], signatures: [signature] } : undefined
  },
  // https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md: while keys rotate, several, separated by
  // spaces.
  standard: (body, headerOf, header = 'webhook-signature', nowMs) => {
    const [id, seconds] = [headerOf('webhook-id'), headerOf('webhook-timestamp')]
    const signatures = headerOf(header)
      .split(' ')
      .flatMap((each) => (each.startsWith('v1,') ? [each.slice(3)] : []))
    return id !== '' && isRecent(seconds, nowMs) ? { bytes: [`${id}.${seconds}.`, body], signatures } : undefined
  },
}

/** How a scheme makes its key of the secret, and writes a signature. Standard Webhooks: base64, the secret after `whsec_`. */
const hex = { keyOf: (secret: string): string | Buffer => secret, encoding: 'hex' } as const
const base64 = {
  keyOf: (secret: string) => (secret.startsWith('whsec_') ? Buffer.from(secret.slice('whsec_'.length), 'base64') : Buffer.from(secret)),
  encoding: 'base64',
} as const

const SIGNATURES_MAX = 10

/** Whether the body is signed by this scheme with one of the secrets. */
export function isSigned(
  body: Buffer,
  headerOf: HeaderOf,
  { scheme, header }: Pick<WebhookConfig, 'scheme' | 'header'>,
  secrets: readonly string[],
  nowMs: number,
): boolean {
  const signed = SCHEMES[scheme](body, headerOf, header, nowMs)
  if (!signed) return false
  const { keyOf, encoding } = scheme === 'standard' ? base64 : hex
  return secrets.some((secret) => {
    const hmac = createHmac('sha256', keyOf(secret))
    for (const bytes of signed.bytes) hmac.update(bytes)
    const wanted = Buffer.from(hmac.digest(encoding))
    return signed.signatures.slice(0, SIGNATURES_MAX).some((signature) => {
      const given = Buffer.from(encoding === 'hex' ? signature.toLowerCase() : signature)
      return given.length === wanted.length && timingSafeEqual(given, wanted)
    })
  })
}
