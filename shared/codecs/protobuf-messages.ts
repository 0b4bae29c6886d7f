/**
 * Which message of its file a Protobuf value is of: the message index before the value (Confluent wire format), a path of positions among
 * the file's messages and those nested in them.
 */
import type { NamespaceBase, Type } from 'protobufjs'

/**
 * A message of the file, and the messages in it in the order in which a FileDescriptorProto lists them. `type` is undefined for the
 * entries of a map, which descriptors list among them. Where a schema's text has maps beside nested messages, it doesn't say which position
 * those have: `nested` is then undefined.
 */
export type ListedMessage = { name: string; type: Type | undefined; nested: ListedMessage[] | undefined }

/** Thrown for a name that no message of the schema has. */
export class NoSuchMessage extends Error {}

/** Message index of the first message of a file, which is written as a single zero. */
const FIRST_MESSAGE = 0
const DEPTH_MAX = 64

/** Where a value's message begins, after its index, and the index. Throws for an index that is cut off or too long. */
export function readMessageIndex(value: Uint8Array): { indices: number[]; end: number } {
  if (value[0] === FIRST_MESSAGE) return { indices: [0], end: 1 }
  let at = 0
  const next = (): number => {
    let raw = 0
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = value[at++]
      if (byte === undefined) break
      raw += (byte & 0x7f) * 2 ** shift
      // Zigzag, as Kafka's varints.
      if (byte < 0x80) return raw % 2 === 0 ? raw / 2 : -(raw + 1) / 2
    }
    throw new Error('the value has no valid message index')
  }
  const count = next()
  if (count < 0 || count > DEPTH_MAX) throw new Error('the value has no valid message index')
  const indices = Array.from({ length: count }, next)
  return { indices, end: at }
}

/** The bytes of a message index. */
export function writeMessageIndex(indices: readonly number[]): Buffer {
  if (indices.length === 1 && indices[0] === 0) return Buffer.from([FIRST_MESSAGE])
  const bytes: number[] = []
  for (const number of [indices.length, ...indices]) {
    let rest = number * 2
    for (; rest >= 0x80; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 0x80)
    bytes.push(rest)
  }
  return Buffer.from(bytes)
}

/** The message with this index. Throws when the file has none, or when the schema's text does not say which it is. */
export function messageAt(messages: readonly ListedMessage[], indices: readonly number[]): Type {
  let among: readonly ListedMessage[] | undefined = messages
  let found: ListedMessage | undefined
  for (const index of indices) {
    if (!among) throw new Error(`the schema's text does not say which message the value is of: ${found?.name} has maps beside its messages`)
    found = among[index]
    if (!found) break
    among = found.nested
  }
  if (!found?.type) throw new Error(`the schema has no message with the index ${indices.join('.')}`)
  return found.type
}

/** A message of the file by its name without the package, as `Order` or `Order.Item`, and its index. Throws NoSuchMessage. */
export function messageNamed(messages: readonly ListedMessage[], name: string): { type: Type; indices: number[] } {
  const indices: number[] = []
  let among: readonly ListedMessage[] | undefined = messages
  let found: ListedMessage | undefined
  for (const part of name.split('.')) {
    const index: number = among?.findIndex((each) => each.name === part && each.type) ?? -1
    if (index === -1) break
    indices.push(index)
    found = among![index]!
    among = found.nested
  }
  if (!found?.type || indices.length !== name.split('.').length) throw new NoSuchMessage(`the schema has no message "${name}"`)
  return { type: found.type, indices }
}

/** The messages directly in a namespace, in the order of the file; `isMessage` tells protobufjs's messages from its other members. */
export function listMessages(space: NamespaceBase, isMessage: (member: object) => member is Type): ListedMessage[] {
  return space.nestedArray.filter(isMessage).map((type) => {
    const nested = listMessages(type, isMessage)
    return { name: type.name, type, nested: nested.length > 0 && type.fieldsArray.some((field) => field.map) ? undefined : nested }
  })
}
