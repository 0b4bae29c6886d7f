/** A field with what is to become of it. */
import { Path, Segment } from 'dps'

export const enum Type { Integer, Decimal, Number, Boolean, Date, Timestamp, String }
/** What to do with a field that is empty or can't be cast. */
export const enum Otherwise { Fail, Null, Absent, Keep }

export const TYPES: string[] = ['integer', 'decimal', 'number', 'boolean', 'date', 'timestamp', 'string']
export const OTHERWISE: string[] = ['fail', 'null', 'absent', 'keep']

export class Field {
  name: string
  path: Path
  /** The whole name: a member's name may contain dots. */
  literal: Segment
  type: Type = Type.String
  onEmpty: Otherwise = Otherwise.Null
  onFailure: Otherwise = Otherwise.Fail
  /** Of dates and times; empty for ISO 8601. */
  format: string = ''
  /** The format's tokens (`tokensOf`). */
  tokens: i32[] = []
  decimalPoint: u32 = 46
  /** The UTF-8 bytes of the character that is left out between digits; empty for none. */
  thousands: ArrayBuffer = new ArrayBuffer(0)
  yes: ArrayBuffer[] = []
  no: ArrayBuffer[] = []
  /** What its texts have to look like, for the message of one that does not; empty where the type says it. */
  expected: string = ''
  constructor(name: string) {
    this.name = name
    const path = new Path(name)
    // `locate` has looked for that already.
    path.whole = null
    this.path = path
    this.literal = new Segment(name)
  }
}
