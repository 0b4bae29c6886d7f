/**
 * Decodes the messages of Postgres' `pgoutput` plug-in, protocol version 1
 * (https://www.postgresql.org/docs/current/protocol-logicalrep-message-formats.html), into changes. The library's own decoder converts
 * every column to a JavaScript value, which may lose digits; here values stay the text that Postgres wrote.
 */
import type { SourceColumn } from './column-json.ts'

/** A table as the log announces it: its name by then, and its columns in order. */
export type Relation = { id: number; schema: string; name: string; columns: SourceColumn[] }
/** Values by column: text, null, or undefined for one that did not change and is too large to be sent again (TOAST). */
export type Tuple = (string | null | undefined)[]

/** What a message of the log says. */
export type Change =
  /** `committedAt`: microseconds since 1970. */
  | { kind: 'begin'; committedAt: bigint }
  /** `end`: LSN at which the next transaction may begin. */
  | { kind: 'commit'; end: bigint }
  | { kind: 'insert'; relation: Relation; after: Tuple }
  /** `before`: the old key if it changed (the other columns are null then), or the whole old row if the replica identity is full. */
  | { kind: 'update'; relation: Relation; before: Tuple | undefined; isBeforeWhole: boolean; after: Tuple }
  | { kind: 'delete'; relation: Relation; before: Tuple }
  | { kind: 'truncate' }

/** Postgres counts microseconds from 2000-01-01. */
const POSTGRES_EPOCH_US = BigInt(Date.UTC(2000, 0, 1)) * 1000n

/** Decodes messages of one connection; undefined for those that change no row. Throws an Error for one that Postgres does not send. */
export function createDecoder(): (message: Buffer) => Change | undefined {
  const relations = new Map<number, Relation>()
  let bytes: Buffer = Buffer.alloc(0)
  let at = 0

  function text(): string {
    const end = bytes.indexOf(0, at)
    if (end < 0) throw new Error('a name does not end within its message of the log')
    const value = bytes.toString('utf8', at, end)
    at = end + 1
    return value
  }
  function integer(): number {
    const value = bytes.readInt32BE(at)
    at += 4
    return value
  }
  function short(): number {
    const value = bytes.readInt16BE(at)
    at += 2
    return value
  }

  function tuple(): Tuple {
    const count = short()
    const values: Tuple = []
    for (let i = 0; i < count; i++) {
      const kind = bytes[at++]
      if (kind === 0x6e) values.push(null)
      else if (kind === 0x75) values.push(undefined)
      else {
        const length = integer()
        if (length < 0 || length > bytes.length - at)
          throw new Error(`a value is ${length} bytes long in a message of the log of ${bytes.length}`)
        values.push(bytes.toString('utf8', at, at + length))
        at += length
      }
    }
    return values
  }

  function relation(): Relation {
    const id = integer()
    const schema = text()
    const name = text()
    at++
    const count = short()
    const columns: SourceColumn[] = []
    for (let i = 0; i < count; i++) {
      at++
      const name = text()
      columns.push({ name, typeId: integer() })
      at += 4
    }
    return { id, schema, name, columns }
  }

  function known(): Relation {
    const found = relations.get(integer())
    if (!found) throw new Error('a change came before the description of its table')
    return found
  }

  return (message) => {
    bytes = message
    at = 1
    switch (String.fromCharCode(message[0]!)) {
      case 'B':
        // The commit time follows the transaction's final LSN.
        return { kind: 'begin', committedAt: message.readBigInt64BE(9) + POSTGRES_EPOCH_US }
      case 'C':
        return { kind: 'commit', end: message.readBigUInt64BE(10) }
      case 'R': {
        const described = relation()
        relations.set(described.id, described)
        return undefined
      }
      case 'I': {
        const table = known()
        at++
        return { kind: 'insert', relation: table, after: tuple() }
      }
      case 'U': {
        const table = known()
        let before: Tuple | undefined
        const isBeforeWhole = bytes[at] === 0x4f
        if (bytes[at] !== 0x4e) {
          at++
          before = tuple()
        }
        at++
        return { kind: 'update', relation: table, before, isBeforeWhole, after: tuple() }
      }
      case 'D': {
        const table = known()
        at++
        return { kind: 'delete', relation: table, before: tuple() }
      }
      case 'T':
        return { kind: 'truncate' }
      default:
        return undefined
    }
  }
}

/** `16/B374D848`: an LSN as Postgres writes it. */
export const lsnText = (lsn: bigint): string =>
  `${(lsn >> 32n).toString(16).toUpperCase()}/${(lsn & 0xffffffffn).toString(16).toUpperCase()}`
/** A position in the log, from its text `XXX/XXX`. */
export function parseLsn(text: string): bigint {
  const [high, low] = text.split('/')
  return (BigInt(`0x${high}`) << 32n) | BigInt(`0x${low}`)
}
