/** Base64 (RFC 4648), as the host writes a frame. */
const BASE64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'

/** The bytes of a text in base64. */
export function fromBase64(text: string): ArrayBuffer {
  let clean = text.length
  while (clean > 0 && text.charCodeAt(clean - 1) == 61) clean--
  const bytes = new Uint8Array((clean * 3) / 4)
  let bits: u32 = 0
  let have = 0
  let to = 0
  for (let i = 0; i < clean; i++) {
    bits = (bits << 6) | (BASE64.indexOf(text.charAt(i)) as u32)
    have += 6
    if (have >= 8) {
      have -= 8
      bytes[to++] = ((bits >> have) & 255) as u8
    }
  }
  return bytes.buffer
}
