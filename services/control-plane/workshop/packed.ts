/** Bytes and big integers in JSON, for the pipe between the control plane and its workshops: `{"$bytes": base64}`, `{"$int": digits}`. */

const MARKS = ['$bytes', '$int', '$plain']

const isMarked = (names: readonly string[]): boolean => names.length === 1 && MARKS.includes(names[0]!)

/** The value as JSON can hold it. An object that only looks marked is wrapped. */
export function packed(value: unknown): unknown {
  if (typeof value === 'bigint') return { $int: String(value) }
  if (value instanceof Uint8Array) return { $bytes: Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64') }
  if (Array.isArray(value)) return value.map(packed)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([name, child]) => [name, packed(child)])
  return isMarked(Object.keys(value)) ? { $plain: entries } : Object.fromEntries(entries)
}

/** The value that was packed. Throws an Error for what `packed` does not make. */
export function unpacked(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(unpacked)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value)
  if (!isMarked(Object.keys(value))) return fromEntries(entries)
  const [[mark, content]] = entries as [[string, unknown]]
  if (mark === '$plain' && Array.isArray(content)) return fromEntries(content as [string, unknown][])
  if (typeof content !== 'string') throw new Error(`${mark} is not a text`)
  return mark === '$int' ? BigInt(content) : new Uint8Array(Buffer.from(content, 'base64'))
}

const fromEntries = (entries: readonly [string, unknown][]): unknown =>
  Object.fromEntries(entries.map(([name, child]) => [name, unpacked(child)]))
