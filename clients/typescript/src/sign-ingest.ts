/** Signs bodies for `POST /v1/ingest/{pipeline}` as Standard Webhooks does; the pipeline's `webhook` source needs `scheme: standard`. */

const encoder = new TextEncoder()
const base64 = (bytes: ArrayBuffer): string => btoa(String.fromCharCode(...new Uint8Array(bytes)))

/** The secret's bytes: base64 behind `whsec_`, else its text. */
function keyBytes(secret: string): Uint8Array<ArrayBuffer> {
  if (!secret.startsWith('whsec_')) return encoder.encode(secret)
  return Uint8Array.from(atob(secret.slice('whsec_'.length)), (character) => character.charCodeAt(0))
}

/** The headers of a request with this body, for the scheme `standard`; the same id again is the same message. */
export async function signIngest(
  secret: string,
  body: string,
  { id = `msg_${crypto.randomUUID()}`, at = new Date() }: { id?: string; at?: Date } = {},
): Promise<Record<'webhook-id' | 'webhook-timestamp' | 'webhook-signature', string>> {
  const seconds = String(Math.floor(at.getTime() / 1000))
  const key = await crypto.subtle.importKey('raw', keyBytes(secret), { name: 'HMAC', hash: 'SHA-256' }, false, ['sign'])
  const signature = await crypto.subtle.sign('HMAC', key, encoder.encode(`${id}.${seconds}.${body}`))
  return { 'webhook-id': id, 'webhook-timestamp': seconds, 'webhook-signature': `v1,${base64(signature)}` }
}
