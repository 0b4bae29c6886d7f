/** Bytes as text, and how many of them one response has room for. */

/** Undefined for bytes that are not UTF-8. */
export function textOf(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}

/** How many more bytes one response may show in full. */
export type ShownBytes = { left: number }
/** Response bytes per byte shown: once in base64, once as text or JSON. */
const SHOWN_TIMES = 2.5
/** How much is shown of bytes that there is no room for. */
export const BEGINNING_BYTES = 4096

export const shownBytes = (): ShownBytes => ({ left: (16 << 20) / SHOWN_TIMES })

/** Deducts the bytes from the room; false if they do not fit. */
export function isRoomFor(bytes: number, room: ShownBytes | undefined): boolean {
  if (!room) return true
  if (bytes > BEGINNING_BYTES && bytes > room.left) {
    room.left -= BEGINNING_BYTES
    return false
  }
  room.left -= bytes
  return true
}
