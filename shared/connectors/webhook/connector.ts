/** The connector `webhook`: signed records that clients push. The control plane receives them and writes the intake topic itself. */
import { z } from 'zod'
import { direction, type Connector } from '../connector.ts'
import { Secret } from '../secret.ts'

/** Headers that can't be kept: they are credentials of the sender. */
const UNTOLD = new Set(['authorization', 'cookie', 'proxy-authorization'])

/** Config of pushed records, as requests give it. */
export const WebhookConfig = z.strictObject({
  scheme: z
    .enum(['hmac', 'github', 'stripe', 'slack', 'standard'])
    .default('hmac')
    .describe(
      'how the sender signs: hmac is HMAC-SHA-256 of the body, in hexadecimal, with or without "sha256=" before it; stripe, slack and standard (Standard Webhooks) also sign the time, which must be within five minutes of the service’s clock; standard signs an id too, and a request with the same id is written once',
    )
    .meta({ title: 'Scheme' }),
  secret: Secret.describe('key with which the sender signs').meta({ title: 'Secret' }),
  previous_secret: Secret.optional()
    .describe('accepted as well, while the sender still signs with the previous one')
    .meta({ title: 'Previous secret' }),
  header: z
    .string()
    .regex(/^[A-Za-z0-9-]{1,100}$/, 'must be the name of a header')
    .optional()
    .describe('header that carries the signature; by default the scheme’s own, X-Signature-256 for hmac')
    .meta({ title: 'Header', examples: ['X-Hub-Signature-256'] }),
  key: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe('member whose value becomes the record’s key: records with the same key keep their order')
    .meta({ title: 'Key' }),
  keep_headers: z
    .array(z.string().regex(/^[A-Za-z0-9-]{1,100}$/, 'must be the name of a header'))
    .max(20)
    .refine((names) => names.every((name) => !UNTOLD.has(name.toLowerCase())), 'must not name a header with a credential')
    .default([])
    .describe('request headers that become headers of its records, with names in lower case; of each the first 4,096 bytes')
    .meta({ title: 'Keep headers', examples: [['X-GitHub-Event', 'X-GitHub-Delivery']] }),
})
/** A validated config with its defaults filled in. */
export type WebhookConfig = z.output<typeof WebhookConfig>

/** The connector’s entry in the catalogue. */
export const webhookConnector: Connector = {
  id: 'conn_webhook',
  name: 'webhook',
  description: 'Receives records that clients push to POST /v1/ingest/{pipeline}, signed with a secret.',
  version: '1.0.0',
  created_at: '2026-11-21T00:00:00.000Z',
  source: direction({
    config: WebhookConfig,
    // There is nothing to read: pushed records are in the intake topic already.
    open: async () => async () => ({
      async *read(_split, _position, _seen, signal) {
        await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
        yield* []
      },
      close: async () => {},
    }),
  }),
}
