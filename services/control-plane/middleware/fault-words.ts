/** What is wrong with a value, in words for people who write requests: the validator's own are for those who write schemas. */
import { z } from 'zod'

type Issue = z.core.$ZodRawIssue

const TYPES: Record<string, string> = {
  string: 'a string',
  number: 'a number',
  nan: 'NaN',
  int: 'a whole number',
  bigint: 'a whole number',
  boolean: 'true or false',
  array: 'an array',
  tuple: 'an array',
  object: 'an object',
  record: 'an object',
}
const FORMATS: Record<string, string> = {
  datetime: 'a time as 2026-11-25T10:00:00Z (ISO 8601)',
  date: 'a date as 2026-11-25',
  email: 'an e-mail address',
  url: 'a URL',
  base64: 'base64',
  base64url: 'base64 for URLs',
  uuid: 'a UUID',
}
/** What values of a kind are counted in. */
const UNITS: Record<string, [one: string, many: string]> = {
  string: ['character', 'characters'],
  array: ['item', 'items'],
  set: ['item', 'items'],
  map: ['member', 'members'],
}

const counted = (least: number | bigint, [one, many]: [string, string]): string => `${least} ${Number(least) === 1 ? one : many}`

/** `bound`: at most, at least, or exactly. */
function sizeWords(origin: string, bound: string, limit: number | bigint, isInclusive: boolean): string {
  const units = UNITS[origin]
  if (units) return Number(limit) === 1 && bound === 'at least' ? 'must not be empty' : `must have ${bound} ${counted(limit, units)}`
  if (isInclusive) return `must be ${bound} ${limit}`
  return `must be ${bound === 'at most' ? 'less' : 'more'} than ${limit}`
}

/** The words for what the schema has none for; undefined where the validator's own stay. */
export function faultWords(issue: Issue): string | undefined {
  switch (issue.code) {
    case 'invalid_type': {
      const given = z.core.util.parsedType(issue.input)
      return `must be ${TYPES[issue.expected] ?? issue.expected}, not ${TYPES[given] ?? given}`
    }
    case 'invalid_value':
      return `must be ${issue.values.length > 1 ? 'one of ' : ''}${issue.values.map(String).join(', ')}`
    case 'too_big':
      return sizeWords(issue.origin, issue.exact ? 'exactly' : 'at most', issue.maximum, issue.inclusive ?? true)
    case 'too_small':
      return sizeWords(issue.origin, issue.exact ? 'exactly' : 'at least', issue.minimum, issue.inclusive ?? true)
    case 'invalid_format':
      if (issue.format === 'regex') return `must match ${issue.pattern}`
      return `must be ${FORMATS[issue.format] ?? issue.format}`
    case 'not_multiple_of':
      return `must be a multiple of ${issue.divisor}`
    default:
      return undefined
  }
}
