/** Instants between their text (RFC 3339) and counts of a unit since 1970, without losing a digit. */
const INSTANT = /^\d{4}-\d{2}-\d{2}T[^.]*?(?:\.(\d+))?(?:Z|[+-]\d{2}:?\d{2})?$/i

/** Throws for a time that a calendar of four digits does not have. */
export function isoOf(timeMs: number): string {
  const text = Number.isFinite(timeMs) && Math.abs(timeMs) <= 8.64e15 ? new Date(timeMs).toISOString() : ''
  if (!/^\d{4}-/.test(text)) throw new Error(`the time ${timeMs} is out of range`)
  return text
}

/** `units` since 1970, of which a second has ten to the power of `digits`, as text. Throws out of range. */
export function instantOf(units: bigint, digits: 3 | 6 | 9): string {
  const perSecond = 10n ** BigInt(digits)
  const fraction = ((units % perSecond) + perSecond) % perSecond
  const seconds = isoOf(Number((units - fraction) / perSecond) * 1000)
  return `${seconds.slice(0, 19)}.${String(fraction).padStart(digits, '0')}Z`
}

/** The count behind a text; undefined for what is no time, or has more digits than the unit holds. */
export function unitsOf(text: unknown, digits: 3 | 6 | 9): bigint | undefined {
  if (typeof text !== 'string') return undefined
  const found = INSTANT.exec(text)
  // The calendar is Date's; what it would round is added here.
  const ms = found ? Date.parse(text) : Number.NaN
  if (Number.isNaN(ms)) return undefined
  const fraction = found![1] ?? ''
  if (/[1-9]/.test(fraction.slice(digits))) return undefined
  return BigInt(Math.floor(ms / 1000)) * 10n ** BigInt(digits) + BigInt(fraction.slice(0, digits).padEnd(digits, '0') || '0')
}
