/** A builder that sets the value of a member as each record's key, so that records with the same key keep their order. */
import { createMemberScanner, unescapeText, ABSENT, ESCAPED, NULL } from '../../model/json-members.ts'
import type { BlockBuilder } from '../record-block.ts'

/** Returns `builder` itself if no member is named. Records without the member have no key: they all go to one partition. */
export function withKeys(builder: BlockBuilder, member: string | undefined): BlockBuilder {
  if (member === undefined) return builder
  const scanner = createMemberScanner([member], true)

  function keyIn(value: Uint8Array, from: number, to: number): Uint8Array | null {
    if (scanner.scan(value, from, to) !== undefined) return null
    const sort = scanner.sorts[0]!
    if (sort === ABSENT || sort === NULL) return null
    if (sort !== ESCAPED) return value.subarray(scanner.starts[0], scanner.ends[0])
    try {
      return Buffer.from(unescapeText(value, scanner.starts[0]!, scanner.ends[0]!))
    } catch {
      // Not valid JSON: the step or sink that parses the record reports it.
      return null
    }
  }

  return {
    get count() {
      return builder.count
    },
    get bytes() {
      return builder.bytes
    },
    addValue: (from, start, end) => builder.add(keyIn(from, start, end), from.subarray(start, end)),
    add: (key, value, headers) => builder.add(key ?? (value && keyIn(value, 0, value.length)), value, headers),
    refuse: (code, message, value) => builder.refuse(code, message, value),
    addRefused: (value, headers) => builder.addRefused(value, headers),
    take: () => builder.take(),
  }
}
