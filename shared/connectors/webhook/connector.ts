/** The connector `webhook`: records that others push to us, signed. The control plane takes them and writes the intake topic itself. */
import { z } from 'zod'
import { direction, type Connector } from '../connector.ts'
import { Secret } from '../secret.ts'

export const WebhookConfig = z.strictObject({
  secret: Secret.describe('key of the signature: HMAC-SHA-256 of the body, in hexadecimal, with or without "sha256=" before it').meta({
    title: 'Secret',
  }),
  header: z
    .string()
    .regex(/^[A-Za-z0-9-]{1,100}$/, 'must be the name of a header')
    .default('X-Signature-256')
    .describe('where the signature stands')
    .meta({ title: 'Header', examples: ['X-Hub-Signature-256'] }),
  key: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe('member whose value becomes the record’s key: records of one key keep their order')
    .meta({ title: 'Key' }),
})
export type WebhookConfig = z.output<typeof WebhookConfig>

export const webhookConnector: Connector = {
  id: 'conn_webhook',
  name: 'webhook',
  description: 'Takes records that are pushed to POST /ingest/{pipeline}, signed with a secret.',
  version: '1.0.0',
  created_at: '2026-11-21T00:00:00.000Z',
  source: direction({
    config: WebhookConfig,
    // Nothing is read: what is pushed is in the intake topic already.
    open: async () => async () => ({
      async *read(_split, _position, _seen, signal) {
        await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
        yield* []
      },
      close: async () => {},
    }),
  }),
}
