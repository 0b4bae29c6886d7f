/** Whether a stream's schema may become another one, field by field, by the stream's compatibility mode. Pure. */
import type { StreamFormat } from './stream-formats.ts'

export type Compatibility = 'BACKWARD' | 'BACKWARD_TRANSITIVE' | 'FORWARD' | 'FORWARD_TRANSITIVE' | 'FULL' | 'FULL_TRANSITIVE' | 'NONE'
export type FieldFault = { field: string; message: string }

type Fields = Readonly<Record<string, string>>

const bare = (type: string): string => (type.endsWith('?') ? type.slice(0, -1) : type)
const isOptional = (type: string): boolean => type.endsWith('?')

/** Values of the first type are values of the second. */
function widens(from: string, to: string, format: StreamFormat): boolean {
  if (from === to) return true
  return format === 'json' && (to === 'any' || (from === 'integer' && to === 'number'))
}

/** What a reader with `reader` can't make of records written with `writer`; the words are those of a change from `before` to `after`. */
function unreadable(writer: Fields, reader: Fields, format: StreamFormat, says: { added: string; dropped: string }): FieldFault[] {
  const faults: FieldFault[] = []
  for (const [field, type] of Object.entries(writer)) {
    const read = reader[field]
    if (read === undefined) {
      // JSON streams are closed: a member that the reader does not know is refused.
      if (format === 'json') faults.push({ field, message: says.dropped })
    } else if (!widens(bare(type), bare(read), format))
      faults.push({ field, message: `its type ${bare(type)} can't be read as ${bare(read)}` })
    else if (isOptional(type) && !isOptional(read))
      faults.push({ field, message: 'is optional for those who write it and required for those who read it' })
  }
  for (const [field, type] of Object.entries(reader))
    if (writer[field] === undefined && !isOptional(type)) faults.push({ field, message: says.added })
  return faults
}

/** Every field that stands in the way; none: the change is possible. */
export function schemaFaults(before: Fields, after: Fields, mode: Compatibility, format: StreamFormat): FieldFault[] {
  const faults: FieldFault[] = []
  // Protobuf knows fields by their numbers, which are their places here.
  if (format === 'protobuf')
    for (const [index, [field, type]] of Object.entries(before).entries()) {
      const [name, now] = Object.entries(after)[index] ?? []
      if (name !== field) faults.push({ field, message: 'must keep its place: Protobuf knows fields by their numbers' })
      else if (bare(now!) !== bare(type)) faults.push({ field, message: `its type ${bare(type)} can't become ${bare(now!)}` })
    }
  if (mode === 'NONE') return faults
  if (mode.startsWith('BACKWARD') || mode.startsWith('FULL'))
    faults.push(
      ...unreadable(before, after, format, {
        added: 'is new and required: records that are there do not have it',
        dropped: 'is dropped: records that are there have it',
      }),
    )
  if (mode.startsWith('FORWARD') || mode.startsWith('FULL'))
    faults.push(
      ...unreadable(after, before, format, {
        added: 'is dropped: readers of the schema before need it',
        dropped: 'is new: readers of the schema before do not know it',
      }),
    )
  return [...new Map(faults.map((fault) => [fault.field, fault])).values()]
}
