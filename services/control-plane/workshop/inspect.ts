/**
 * Checks an uploaded binary before anything compiles it: a core WebAssembly module of version 2.0 with SIMD, within bounds, with allowed
 * imports, one bounded memory, bounded tables, and the exports of a known kind with their signatures. Runs in a workshop.
 */
import { SMARTMODULE_LIMITS } from '../../../shared/smartmodule/abi.ts'
import { EXTISM_FUNCTIONS, FLUVIO_FUNCTIONS, type ExtismFunction, type SmartModuleKind } from '../../../shared/model/smartmodule-kind.ts'
import { allowedImport, kindOfImport } from '../../../shared/smartmodule/imports.ts'
import { InspectionError, shownName, unsigned } from './wasm-reader.ts'
import { readSections, type ModuleShape } from './wasm-sections.ts'

/** A module's kind and, for an Extism plug-in, the function to call. */
export type Inspection = { kind: SmartModuleKind; extismFunction?: ExtismFunction }

const HEADER = [0x00, 0x61, 0x73, 0x6d]
const MEMORY_SECTION = 5
const TABLE_SECTION = 4

/** Signatures of the exports that a batch module must have, as parameters → results. */
const BATCH_SIGNATURES: Readonly<Record<string, string>> = {
  dps_alloc: 'i32 → i32',
  dps_init: 'i32 i32 → i32',
  dps_process: 'i32 i32 i32 i32 i64 i64 i64 i32 → i32',
}

/** Signatures of optional exports. */
const OPTIONAL_SIGNATURES: Readonly<Record<string, string>> = { dps_members: 'i32 → i32' }

/**
 * What the module is, and its binary with the maxima of its memory and tables set to the limits where it declares none or larger ones.
 * Throws InspectionError naming what is wrong.
 */
export function inspectBinary(binary: Uint8Array): Inspection & { binary: Uint8Array<ArrayBuffer> } {
  if (binary.length < 8 || HEADER.some((byte, index) => binary[index] !== byte))
    throw new InspectionError('the binary is not WebAssembly (its first four bytes are not \\0asm)')
  if (binary[4] !== 1 || binary[5] !== 0 || binary[6] !== 0 || binary[7] !== 0)
    throw new InspectionError('the binary is not a core WebAssembly module of version 1 (components are not supported)')
  const shape = readSections(binary)
  return { ...kindOf(shape), binary: bounded(binary, shape) }
}

function kindOf(shape: ModuleShape): Inspection {
  for (const { module, name, kind } of shape.imports)
    if (kind !== 'function' || !allowedImport(module, name))
      throw new InspectionError(`the module imports ${shownName(module)}.${shownName(name)} (${kind}), which is not allowed`)
  const inner = shape.exports.get('_initialize')
  if (inner && inner.signature !== ' → ')
    throw new InspectionError('the export _initialize must be a function without parameters and results')
  const { exports } = shape
  if (exports.has('dps_abi_1')) {
    const marker = exports.get('dps_abi_1')
    if (marker?.kind !== 'global' || marker.signature !== 'i32')
      throw new InspectionError('the export dps_abi_1 must be a global of type i32')
    const missing = ['memory', ...Object.keys(BATCH_SIGNATURES)].filter((name) => !exports.has(name))
    if (missing.length > 0) throw new InspectionError(`the module exports dps_abi_1 but not ${missing.join(', ')}`)
    for (const [name, signature] of Object.entries({ ...BATCH_SIGNATURES, ...OPTIONAL_SIGNATURES })) {
      const found = exports.get(name)
      if (!found && name in OPTIONAL_SIGNATURES) continue
      if (found?.signature !== signature)
        throw new InspectionError(`the export ${name} must be a function ${signature}, not ${found?.signature ?? `a ${found?.kind}`}`)
    }
    assertImportsFit(shape, 'batch')
    assertMemory(shape)
    return { kind: 'batch' }
  }
  const other = otherKindOf(shape)
  if (other) return { kind: other }
  const extismFunction = EXTISM_FUNCTIONS.find((name) => exports.get(name)?.kind === 'function')
  if (!extismFunction)
    throw new InspectionError(
      `the module exports neither dps_abi_1 (a batch module) nor one of ${EXTISM_FUNCTIONS.join(', ')} (an Extism plug-in), and imports ` +
        'nothing of Redpanda or Fluvio',
    )
  const { signature } = exports.get(extismFunction)!
  // Some toolkits make functions without a result; Extism takes it for 0.
  if (signature !== ' → i32' && signature !== ' → ')
    throw new InspectionError(`the export ${extismFunction} must be a function → i32, not ${signature}`)
  assertImportsFit(shape, 'extism')
  assertMemory(shape)
  return { kind: 'extism', extismFunction }
}

/** The signature of Fluvio's functions, and of the one by which it gives a module memory. */
const FLUVIO_CALL = 'i32 i32 i32 → i32'
const FLUVIO_ALLOC = 'i32 → i32'

/** A module made for Redpanda or Fluvio is known by what it imports. Throws InspectionError when it can't run here. */
function otherKindOf(shape: ModuleShape): 'redpanda' | 'fluvio' | undefined {
  const kind = shape.imports.map(({ module, name }) => kindOfImport(module, name)).find((each) => each === 'redpanda' || each === 'fluvio')
  if (kind === undefined) return undefined
  assertImportsFit(shape, kind)
  assertMemory(shape)
  const signatures = kind === 'redpanda' ? { _start: ' → ' } : { alloc: FLUVIO_ALLOC, [fluvioFunctionOf(shape)]: FLUVIO_CALL }
  for (const [name, signature] of Object.entries(signatures))
    if (shape.exports.get(name)?.signature !== signature)
      throw new InspectionError(
        `the export ${name} of a ${kind} module must be a function ${signature.trim() || 'without parameters and results'}`,
      )
  return kind
}

function fluvioFunctionOf({ exports }: ModuleShape): string {
  for (const name of ['aggregate', 'look_back'])
    if (exports.has(name)) throw new InspectionError(`the module exports ${name}: Fluvio modules that keep state do not run here`)
  const name = FLUVIO_FUNCTIONS.find((each) => exports.has(each))
  if (name === undefined) throw new InspectionError(`the Fluvio module exports none of ${FLUVIO_FUNCTIONS.join(', ')}`)
  return name
}

/** What one kind of modules imports is not there for another. */
function assertImportsFit({ imports }: ModuleShape, kind: SmartModuleKind): void {
  const foreign = imports.find(({ module, name }) => (kindOfImport(module, name) ?? kind) !== kind)
  if (foreign)
    throw new InspectionError(`a module of the kind ${kind} can't import ${shownName(foreign.module)}.${shownName(foreign.name)}`)
}

function assertMemory({ exports }: ModuleShape): void {
  if (exports.get('memory')?.kind !== 'memory') throw new InspectionError('the module does not export its memory')
}

/** The binary with bounded memory and tables. */
function bounded(binary: Uint8Array, { memory, tables, places }: ModuleShape): Uint8Array<ArrayBuffer> {
  const pages = [1, 1, ...unsigned(memory.minimum), ...unsigned(Math.min(memory.maximum, SMARTMODULE_LIMITS.memory_pages_max))]
  const tableBytes = [
    ...unsigned(tables.length),
    ...tables.flatMap(({ type, minimum, maximum }) => [
      type,
      1,
      ...unsigned(minimum),
      ...unsigned(Math.min(maximum, SMARTMODULE_LIMITS.table_elements_max)),
    ]),
  ]
  const parts: Uint8Array[] = []
  let from = 0
  for (const { id, start, end } of places) {
    const content = id === MEMORY_SECTION ? pages : id === TABLE_SECTION ? tableBytes : undefined
    if (!content) continue
    parts.push(binary.subarray(from, start), Uint8Array.from([id, ...unsigned(content.length), ...content]))
    from = end
  }
  parts.push(binary.subarray(from))
  return new Uint8Array(Buffer.concat(parts))
}
