/**
 * Prints answers that contain others' JSON, which is copied as it is: parsing a megabyte of small values, only to print it again, blocks
 * the thread for 250 ms.
 */
import { randomUUID } from 'node:crypto'
import { parseAsWritten } from '../../../shared/model/exact-json.ts'

/** What the printing under way has left out: `mark` stands where each of them goes; it is random, so that no record can hold it. */
let leftOut: { mark: string; bytes: Uint8Array[] } | undefined

type Printed = { toJSON(): unknown }

/** A value of an answer that is printed as these bytes, which must be JSON. */
export const asPrinted = (bytes: Uint8Array): Printed => ({
  toJSON() {
    // Where it is printed by others: in a log, or for the database.
    if (!leftOut) return parseAsWritten(Buffer.from(bytes).toString())
    leftOut.bytes.push(bytes)
    return leftOut.mark
  },
})

/** What a value of an answer holds, for code that compares it. */
export const parsedOf = (value: unknown): unknown =>
  typeof value === 'object' && value !== null && 'toJSON' in value ? (value as Printed).toJSON() : value

/** The bytes of what `JSON.stringify` makes, for values with parts that are `asPrinted`. */
export function printJson(value: unknown): Buffer {
  const outer = leftOut
  const own = (leftOut = { mark: randomUUID(), bytes: [] as Uint8Array[] })
  let text: string
  try {
    text = JSON.stringify(value)
  } finally {
    leftOut = outer
  }
  if (own.bytes.length === 0) return Buffer.from(text)
  const [first = '', ...more] = text.split(`"${own.mark}"`)
  return Buffer.concat([Buffer.from(first), ...more.flatMap((each, index) => [own.bytes[index]!, Buffer.from(each)])])
}
