/** Base64, the API's form of bytes. */
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

/** Returns the decoded bytes; undefined for text that is not base64 (RFC 4648 §4), of which Node would skip invalid characters. */
export function fromBase64(text: string): Buffer | undefined {
  return BASE64.test(text) ? Buffer.from(text, 'base64') : undefined
}
