/** Conversions between an instant's text (RFC 3339) and a count of units since 1970, without losing digits. */
const INSTANT = /^(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d(?::\d\d)?)(?:\.(\d+))?([Zz]|[+-]\d\d(?::?\d\d)?)?$/
const DATE = /^\d{4}-\d\d-\d\d$/
const DAY_MS = 86_400_000

/** The ISO 8601 text of a time in milliseconds since 1970. Throws an Error outside the years 0000 to 9999. */
export function isoOf(timeMs: number): string {
  const text = Number.isFinite(timeMs) && Math.abs(timeMs) <= 8.64e15 ? new Date(timeMs).toISOString() : ''
  if (!/^\d{4}-/.test(text)) throw new Error(`the time ${timeMs} is out of range`)
  return text
}

/** The clock hour (UTC) of a time in milliseconds since 1970, as `2026-11-22T19`. */
export const hourOf = (timeMs: number): string => isoOf(timeMs).slice(0, 'YYYY-MM-DDTHH'.length)

/** The RFC 3339 text of `units` since 1970, 10^`digits` of them per second. Throws an Error outside the years 0000 to 9999. */
export function instantOf(units: bigint, digits: 3 | 6 | 9): string {
  const perSecond = 10n ** BigInt(digits)
  const fraction = ((units % perSecond) + perSecond) % perSecond
  const seconds = isoOf(Number((units - fraction) / perSecond) * 1000)
  return `${seconds.slice(0, 19)}.${String(fraction).padStart(digits, '0')}Z`
}

/** Days since 1970 of a date such as 2026-11-22; undefined if it is not a valid date. */
export function daysOf(text: unknown): number | undefined {
  if (typeof text !== 'string' || !DATE.test(text)) return undefined
  const time = Date.parse(`${text}T00:00:00Z`)
  // 30 February is read as 2 March.
  return Number.isNaN(time) || new Date(time).toISOString().slice(0, 10) !== text ? undefined : time / DAY_MS
}

/**
 * Units since 1970, 10^`digits` of them per second, of a time as RFC 3339 or Postgres writes it; without a zone it is UTC. Undefined if
 * the text is not a time, or has more digits than the unit holds.
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
