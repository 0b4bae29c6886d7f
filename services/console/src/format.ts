/** Numbers, times and durations as people read them, and as they type them. */
const grouped = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })
const short = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 })

/** All digits, grouped. */
export const count = (value: number | bigint): string => grouped.format(value)
/** Three digits or so; the full number belongs beside it. */
export const compact = (value: number): string => (value < 10_000 ? grouped.format(value) : short.format(value))
/** Records per second. */
export const rate = (value: number): string => (value > 0 && value < 10 ? value.toFixed(1) : compact(value))

/** UTC to the second, for a machine's time stamp. */
export const utc = (time: string): string => `${time.slice(0, 10)} ${time.slice(11, 19)} UTC`
export const local = (time: string): string => new Date(time).toLocaleString()

const UNITS: [seconds: number, name: string][] = [
  [86_400, 'd'],
  [3600, 'h'],
  [60, 'min'],
  [1, 's'],
]
/** How long ago, in one unit. */
export function ago(time: string, nowMs = Date.now()): string {
  const seconds = Math.max(0, Math.round((nowMs - Date.parse(time)) / 1000))
  const [unit, name] = UNITS.find(([each]) => seconds >= each) ?? [1, 's']
  return seconds < 2 ? 'now' : `${Math.floor(seconds / unit)} ${name} ago`
}

export function nanoseconds(value: number): string {
  if (value < 1000) return `${value} ns`
  return value < 1e6 ? `${(value / 1000).toFixed(1)} µs` : `${(value / 1e6).toFixed(1)} ms`
}

/** What turns the text around it, or can't be seen, as JSON escapes it: emoji and all scripts stay. */
const UNSEEN = /[\p{Bidi_Control}\u200b\u2060\ufeff]|(?!\s)\p{Cc}/gu
export const plain = (text: string): string => text.replace(UNSEEN, (each) => `\\u${each.codePointAt(0)!.toString(16).padStart(4, '0')}`)

/** A number as JSON has it: number fields take `.5`, `05` and, in some browsers, `5.` too. */
export const jsonNumber = (typed: string): string =>
  typed
    .replace(/^(-?)0+(?=\d)/, '$1')
    .replace(/^-?(?=\.)/, '$&0')
    .replace(/\.(?!\d)/, '')

/** A time as an input for one has it, in UTC or as the clock here shows it; empty for what is no time. */
export function typedTime(time: string | undefined, isUtc: boolean): string {
  const at = new Date(time ?? '')
  if (Number.isNaN(+at)) return ''
  return new Date(+at - (isUtc ? 0 : at.getTimezoneOffset() * 60_000)).toISOString().slice(0, 19)
}
/** The time that such an input says. */
export const timeOf = (typed: string, isUtc: boolean): string => typed && new Date(typed + (isUtc ? 'Z' : '')).toISOString()
