/** Instants between their text (RFC 3339) and counts of a unit since 1970, without losing a digit. */
const INSTANT = /^(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d(?::\d\d)?)(?:\.(\d+))?([Zz]|[+-]\d\d(?::?\d\d)?)?$/
const DATE = /^\d{4}-\d\d-\d\d$/
const DAY_MS = 86_400_000

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

/** Days since 1970 of a date such as 2026-11-22; undefined for what no calendar has. */
export function daysOf(text: unknown): number | undefined {
  if (typeof text !== 'string' || !DATE.test(text)) return undefined
  const time = Date.parse(`${text}T00:00:00Z`)
  // 30 February is read as 2 March.
  return Number.isNaN(time) || new Date(time).toISOString().slice(0, 10) !== text ? undefined : time / DAY_MS
}

/**
 * The count behind a text, as RFC 3339 or Postgres write it; without a zone it is UTC. Undefined for what is no time, or has more digits
 * than the unit holds.
 */
export function unitsOf(text: unknown, digits: 3 | 6 | 9): bigint | undefined {
  const parts = typeof text === 'string' ? INSTANT.exec(text) : null
  if (!parts) return undefined
  const [, day, time, fraction = '', zone = 'Z'] = parts
  if (daysOf(day) === undefined || /[1-9]/.test(fraction.slice(digits))) return undefined
  const ms = Date.parse(`${day}T${time}${/^[+-]\d\d$/.test(zone) ? `${zone}:00` : zone.toUpperCase()}`)
  if (Number.isNaN(ms)) return undefined
  return (BigInt(ms) / 1000n) * 10n ** BigInt(digits) + BigInt(fraction.slice(0, digits).padEnd(digits, '0'))
}
