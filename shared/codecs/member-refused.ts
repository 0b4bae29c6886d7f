/** A value that its schema can't hold, by the member at fault. */
export class MemberRefused extends Error {
  /** The names of members, and indices of lists, that lead to it. */
  readonly path: readonly string[]

  /** `reason` follows the member's name in the message, as in `is not in the stream's Avro schema`. */
  constructor(path: readonly string[], reason: string) {
    super(`${path.length === 0 ? 'the value' : `the member "${path.join('.')}"`} ${reason}`)
    this.path = path
  }
}
