/** Bytes as the API writes them. */
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

/** Throws for what is no base64 (RFC 4648 §4): Node would leave out what it does not know. */
export function fromBase64(text: string): Buffer {
  if (!BASE64.test(text)) throw new Error('bytes are written in base64')
  return Buffer.from(text, 'base64')
}
