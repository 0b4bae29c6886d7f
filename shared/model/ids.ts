/** Resource ids: a prefix for the kind, and a UUIDv7 (RFC 9562) in lower-case base 32, so that ids sort by creation time. */
import { v7 } from 'uuid'

/** The id prefix of each kind of resource. Ids of dead letters (`dl_…`) say where the dead letter is, see `store/dead-letters.ts`. */
const ID_PREFIXES = {
  account: 'acc',
  key: 'key',
  smartModule: 'sm',
  connector: 'conn',
  pipeline: 'pl',
  stream: 'st',
  job: 'job',
  secret: 'sec',
  audit: 'aud',
  member: 'mem',
} as const

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'

/** A new id of the kind. */
export function newId(kind: keyof typeof ID_PREFIXES): string {
  let value = BigInt(`0x${v7().replaceAll('-', '')}`)
  let text = ''
  for (let i = 0; i < 26; i++) {
    text = ALPHABET[Number(value & 31n)]! + text
    value >>= 5n
  }
  return `${ID_PREFIXES[kind]}_${text}`
}

/** Whether the text looks like an id of the kind. */
export const isIdOf = (kind: keyof typeof ID_PREFIXES, text: string): boolean =>
  text.length === ID_PREFIXES[kind].length + 27 && new RegExp(`^${ID_PREFIXES[kind]}_[${ALPHABET}]{26}$`).test(text)
