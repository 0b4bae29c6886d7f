/**
 * Reads Protobuf schemas as registries store them: as text, or, from Python's serializer, as a FileDescriptorProto in base64
 * (descriptor.proto of protobuf).
 */
import { createRequire } from 'node:module'
import type { NamespaceBase, Root, Type } from 'protobufjs'
import type { SchemaText } from '../model/schema-text.ts'
import { listMessages, type ListedMessage } from './protobuf-messages.ts'

/** The protobufjs library. */
export type Protobuf = typeof import('protobufjs')

const load = createRequire(import.meta.url)
/** Does not match a schema's text, which has spaces and braces. */
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/

type File = { imports: string[]; messages: ListedMessage[] }

/**
 * Returns the messages of the schema's own file, with everything they refer to resolved. Throws an Error when there is none, or a reference
 * is unknown.
 */
export function messagesOf(protobuf: Protobuf, text: string, references: SchemaText['references']): ListedMessage[] {
  const [root, { imports, messages }] = BASE64.test(text.trim())
    ? fromDescriptors(protobuf, [...references.map((reference) => reference.text), text])
    : fromTexts(protobuf, text, references)
  if (messages.length === 0) throw new Error('the schema has no message')
  // Google's own types are part of the library.
  for (const each of new Set(imports)) {
    const common = protobuf.common.get(each)
    if (common?.nested) root.addJSON(common.nested)
  }
  addOptions(protobuf, root)
  root.resolveAll()
  return messages
}

const messageTest =
  (protobuf: Protobuf) =>
  (member: object): member is Type =>
    member instanceof protobuf.Type

const OPTIONS = ['File', 'Message', 'Field', 'Oneof', 'Enum', 'EnumValue', 'ExtensionRange', 'Service', 'Method']

/** Adds the types of descriptor.proto that a schema's own options extend. Options change nothing of a value. */
function addOptions(protobuf: Protobuf, root: Root): void {
  const space = root.define('google.protobuf')
  for (const name of OPTIONS.map((kind) => `${kind}Options`))
    if (!space.get(name)) space.add(protobuf.Type.fromJSON(name, { fields: {}, extensions: [[1000, 536_870_911]] }))
}

function fromTexts(protobuf: Protobuf, text: string, references: SchemaText['references']): [Root, File] {
  const root = new protobuf.Root()
  const main = protobuf.parse(text, root, { keepCase: true })
  const space = main.package === undefined ? root : (root.lookup(main.package) as NamespaceBase)
  // Before the other files, which may be of the same package.
  const messages = listMessages(space, messageTest(protobuf))
  const imports = [...(main.imports ?? [])]
  for (const reference of references) imports.push(...(protobuf.parse(reference.text, root, { keepCase: true }).imports ?? []))
  return [root, { imports, messages }]
}

type DescribedMessage = { name: string; nestedType?: DescribedMessage[] }
type Descriptor = { package?: string; dependency?: string[]; messageType?: DescribedMessage[] }

/** What the descriptor extension adds to protobufjs. */
type DescribedRoot = {
  new (): Root & { toDescriptor(syntax: string): { file: Descriptor[] } }
  fromDescriptor(set: { file: Descriptor[] }): Root
}

/** Descriptors of Google's own types that the files import; they are part of the library. */
function commonDescriptors(protobuf: Protobuf, files: Descriptor[]): Descriptor[] {
  const { Root } = protobuf as unknown as { Root: DescribedRoot }
  const common = new Root()
  for (const name of new Set(files.flatMap(({ dependency }) => dependency ?? []))) {
    const known = protobuf.common.get(name)
    if (known?.nested) common.addJSON(known.nested)
  }
  return common.nestedArray.length === 0 ? [] : common.toDescriptor('proto3').file
}

/** Descriptors describe a map as a list of entries (descriptor.proto, `map_entry`), and the library leaves it at that. */
function restoreMaps(protobuf: Protobuf, space: NamespaceBase): void {
  for (const each of space.nestedArray) {
    if (!(each instanceof protobuf.Namespace)) continue
    restoreMaps(protobuf, each)
    if (!(each instanceof protobuf.Type)) continue
    for (const field of each.fieldsArray.filter(({ repeated }) => repeated)) {
      const entry = each.get(field.type.split('.').at(-1) ?? '')
      if (!(entry instanceof protobuf.Type) || entry.options?.map_entry !== true) continue
      const { key, value } = entry.fields
      if (!key || !value) continue
      each.remove(field)
      const map = new protobuf.MapField(field.name, field.id, key.type, value.type)
      each.add(map)
      map.resolve()
      each.remove(entry)
    }
  }
}

/** The root and the schema's own file, whose descriptor is the last of `texts`. */
function fromDescriptors(protobuf: Protobuf, texts: string[]): [Root, File] {
  const { FileDescriptorProto } = load('protobufjs/ext/descriptor/index.js') as typeof import('protobufjs/ext/descriptor/index.js')
  const files = texts.map((text): Descriptor => {
    try {
      return FileDescriptorProto.decode(Buffer.from(text.trim(), 'base64')) as Descriptor
    } catch (error) {
      throw new Error('the schema is neither a Protobuf text nor a FileDescriptorProto in base64', { cause: error })
    }
  })
  const own = files.at(-1)!
  const { Root } = protobuf as unknown as { Root: DescribedRoot }
  const root = Root.fromDescriptor({ file: [...commonDescriptors(protobuf, files), ...files] })
  restoreMaps(protobuf, root)
  const space = own.package === undefined || own.package === '' ? root : (root.lookup(own.package) as NamespaceBase)
  const isMessage = messageTest(protobuf)
  const listed = (within: NamespaceBase, described: DescribedMessage[] = []): ListedMessage[] =>
    described.map(({ name, nestedType }) => {
      const type = within.get(name)
      return type && isMessage(type) ? { name, type, nested: listed(type, nestedType) } : { name, type: undefined, nested: [] }
    })
  return [root, { imports: [], messages: listed(space, own.messageType) }]
}
