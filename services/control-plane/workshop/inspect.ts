/**
 * Checks that an uploaded binary is a core WebAssembly module with allowed imports, one bounded memory and the exports of a known kind.
 * Compiles nothing; runs in a workshop.
 */
import { BATCH_EXPORTS, SMARTMODULE_LIMITS } from '../../../shared/smartmodule/abi.ts'
import { EXTISM_FUNCTIONS, type ExtismFunction, type SmartModuleKind } from '../../../shared/model/smartmodule-kind.ts'
import { ALLOWED_IMPORTS } from '../../../shared/smartmodule/imports.ts'

/** Thrown for a binary that is refused; the message names the import, the export or the fault. */
export class InspectionError extends Error {}

/** A module's kind and, for an Extism plug-in, the function to call. */
export type Inspection = { kind: SmartModuleKind; extismFunction?: ExtismFunction }

const MEMORY_SECTION = 5

function readUnsigned(bytes: Uint8Array, cursor: { at: number }): number {
  let result = 0
  for (let shift = 0; shift < 35; shift += 7) {
    const byte = bytes[cursor.at++]
    if (byte === undefined) throw new InspectionError('the binary is not a complete WebAssembly module')
    result += (byte & 0x7f) * 2 ** shift
    if (byte < 0x80) return result
  }
  throw new InspectionError('the binary is not a valid WebAssembly module')
}

function unsigned(value: number): number[] {
  const bytes = []
  let rest = value
  while (rest >= 0x80) {
    bytes.push((rest & 0x7f) | 0x80)
    rest = Math.floor(rest / 128)
  }
  bytes.push(rest)
  return bytes
}

/**
 * The binary with its memory's maximum set to the limit when it declares none or a larger one (WebAssembly core spec §5.5.8).
 * Throws InspectionError when it is not a core module, or has no memory, several, a shared or 64-bit one, or a minimum above the limit.
 */
export function boundModule(binary: Uint8Array): Uint8Array<ArrayBuffer> {
  const header = [0x00, 0x61, 0x73, 0x6d]
  if (binary.length < 8 || header.some((byte, index) => binary[index] !== byte))
    throw new InspectionError('the binary is not WebAssembly (its first four bytes are not \\0asm)')
  if (binary[4] !== 1 || binary[5] !== 0 || binary[6] !== 0 || binary[7] !== 0) {
    throw new InspectionError('the binary is not a core WebAssembly module of version 1 (components are not supported)')
  }
  const cursor = { at: 8 }
  while (cursor.at < binary.length) {
    const from = cursor.at
    const id = binary[cursor.at++]
    const size = readUnsigned(binary, cursor)
    const content = cursor.at
    if (content + size > binary.length) throw new InspectionError('the binary is not a complete WebAssembly module')
    if (id === MEMORY_SECTION) {
      const section = boundedMemorySection(binary, cursor)
      const replacement = [MEMORY_SECTION, ...unsigned(section.length), ...section]
      const result = new Uint8Array(from + replacement.length + binary.length - (content + size))
      result.set(binary.subarray(0, from))
      result.set(replacement, from)
      result.set(binary.subarray(content + size), from + replacement.length)
      return result
    }
    cursor.at = content + size
  }
  throw new InspectionError('the module has no memory of its own')
}

function boundedMemorySection(binary: Uint8Array, cursor: { at: number }): number[] {
  const count = readUnsigned(binary, cursor)
  if (count !== 1) throw new InspectionError(`the module declares ${count} memories; exactly one is supported`)
  const flags = readUnsigned(binary, cursor)
  if ((flags & 2) !== 0) throw new InspectionError('the module declares a shared memory, which is not supported')
  if (flags > 1) throw new InspectionError('the module declares a 64-bit or otherwise unsupported memory')
  const minimum = readUnsigned(binary, cursor)
  const declared = flags === 1 ? readUnsigned(binary, cursor) : Infinity
  const most = SMARTMODULE_LIMITS.memory_pages_max
  if (minimum > most) throw new InspectionError(`the module needs ${minimum} memory pages at start; at most ${most} (64 MiB) are allowed`)
  return [1, 1, ...unsigned(minimum), ...unsigned(Math.min(declared, most))]
}

/** The kind of a compiled module, from its imports and exports. Throws InspectionError naming the wrong import or export. */
export function inspectModule(module: WebAssembly.Module): Inspection {
  for (const { module: from, name, kind } of WebAssembly.Module.imports(module)) {
    if (kind !== 'function' || !ALLOWED_IMPORTS[from]?.has(name))
      throw new InspectionError(`the module imports ${from}.${name} (${kind}), which is not allowed`)
  }
  const exported = new Map(WebAssembly.Module.exports(module).map(({ name, kind }) => [name, kind]))
  if (exported.has('dps_abi_1')) {
    const missing = BATCH_EXPORTS.filter((name) => exported.get(name) !== (name === 'memory' ? 'memory' : 'function'))
    if (missing.length > 0) throw new InspectionError(`the module exports dps_abi_1 but not ${missing.join(', ')}`)
    return { kind: 'batch' }
  }
  const extismFunction = EXTISM_FUNCTIONS.find((name) => exported.get(name) === 'function')
  if (!extismFunction)
    throw new InspectionError(
      `the module exports neither dps_abi_1 (a batch module) nor one of ${EXTISM_FUNCTIONS.join(', ')} (an Extism plug-in)`,
    )
  if (exported.get('memory') !== 'memory') throw new InspectionError('the module does not export its memory')
  return { kind: 'extism', extismFunction }
}
