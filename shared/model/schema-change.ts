/** Whether a stream's schema may change to another one, checked field by field under the stream's compatibility mode. Pure. */
import type { StreamFormat } from './stream-formats.ts'
import { bare, isOptional } from './stream-schema.ts'

/** The schema registry's compatibility modes. */
export type Compatibility = 'BACKWARD' | 'BACKWARD_TRANSITIVE' | 'FORWARD' | 'FORWARD_TRANSITIVE' | 'FULL' | 'FULL_TRANSITIVE' | 'NONE'
/** A field that prevents a change of schema, and why. */
export type FieldFault = { field: string; message: string }

type Fields = Readonly<Record<string, string>>

/** True if every value of type `from` is also a value of type `to`. */
function widens(from: string, to: string, format: StreamFormat): boolean {
  if (from === to) return true
  return format === 'json' && (to === 'any' || (from === 'integer' && to === 'number'))
}

/** Fields that keep schema `reader` from reading records of schema `writer`; `says` has the messages for added and dropped fields. */
function unreadable(writer: Fields, reader: Fields, format: StreamFormat, says: { added: string; dropped: string }): FieldFault[] {
  const faults: FieldFault[] = []
  for (const [field, type] of Object.entries(writer)) {
    const read = reader[field]
    if (read === undefined) {
      // JSON streams have closed schemas: a member that the reader does not know is refused.
      if (format === 'json') faults.push({ field, message: says.dropped })
    } else if (!widens(bare(type), bare(read), format))
      faults.push({ field, message: `its type ${bare(type)} can't be read as ${bare(read)}` })
    else if (isOptional(type) && !isOptional(read))
      faults.push({ field, message: 'is optional in the schema of the writer and required in that of the reader' })
  }
  for (const [field, type] of Object.entries(reader))
    if (writer[field] === undefined && !isOptional(type)) faults.push({ field, message: says.added })
  return faults
}

/** One fault for each field that prevents the change; empty if the change is possible. */
export function schemaFaults(before: Fields, after: Fields, mode: Compatibility, format: StreamFormat): FieldFault[] {
  const faults: FieldFault[] = []
  // Protobuf identifies fields by number, which is their position here.
  if (format === 'protobuf')
    for (const [index, [field, type]] of Object.entries(before).entries()) {
      const [name, now] = Object.entries(after)[index] ?? []
      if (name !== field) faults.push({ field, message: 'must keep its position: Protobuf identifies fields by number' })
      else if (bare(now!) !== bare(type)) faults.push({ field, message: `its type ${bare(type)} can't become ${bare(now!)}` })
    }
  if (mode === 'NONE') return faults
  if (mode.startsWith('BACKWARD') || mode.startsWith('FULL'))
    faults.push(
      ...unreadable(before, after, format, {
        added: 'is new and required: existing records do not have it',
        dropped: 'is dropped: existing records have it',
      }),
    )
  if (mode.startsWith('FORWARD') || mode.startsWith('FULL'))
    faults.push(
      ...unreadable(after, before, format, {
        added: 'is dropped: readers of the previous schema need it',
        dropped: 'is new: readers of the previous schema do not know it',
      }),
    )
  return [...new Map(faults.map((fault) => [fault.field, fault])).values()]
}
