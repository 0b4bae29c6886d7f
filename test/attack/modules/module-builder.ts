/** Builds WebAssembly modules for attacks: from text where text can say it, section by section where no assembler would write it. */
import binaryen from 'binaryen'

/**
 * A hostile or pathological module. `refused`: by the upload, which says `reason`; where that is undefined, by a pipeline's trial start or
 * for the size of its file.
 */
export type Hostile = { name: string; why: string; binary(): Uint8Array; expect: 'refused' | 'runs'; reason?: RegExp | undefined }

const GC = /struct|array|i31|anyref|eqref|\(rec|\(sub|ref\.(test|cast)/

/** The binary of a module in the text format, with every feature that binaryen knows. Throws an Error for text that it can't parse. */
export function toBinary(wat: string): Uint8Array {
  let module: binaryen.Module
  try {
    module = binaryen.parseText(wat)
  } catch (error) {
    throw new Error(`can't parse ${wat.slice(0, 60)}: ${error instanceof Error ? error.message : JSON.stringify(error)}`, { cause: error })
  }
  try {
    // With garbage collection a plain null becomes one of its types.
    module.setFeatures(GC.test(wat) ? binaryen.Features.All : binaryen.Features.All & ~binaryen.Features.GC)
    return Uint8Array.from(module.emitBinary())
  } finally {
    module.dispose()
  }
}

/** Address of the result block, and of the data segment `text`. The host's input starts at `INPUT`, output directly behind it. */
export const RESULT = 64
export const TEXT = 1024
export const INPUT = 65_536

type BatchExport = 'memory' | 'dps_abi_1' | 'dps_alloc' | 'dps_init' | 'dps_process'

/**
 * Parts of a batch module, all in text. `alloc`, `init` and `process` are bodies that leave an i32; `own` replaces a whole export, or
 * leaves it out where it is empty; `imports` come first, `more` last; `text` lies at `TEXT`, one byte a character.
 */
export type BatchParts = {
  imports?: string
  memory?: string
  alloc?: string
  init?: string
  process?: string
  own?: Partial<Record<BatchExport, string>>
  more?: string
  text?: string
}

const escaped = (text: string): string => Buffer.from(text, 'latin1').toString('hex').replace(/../g, '\\$&')

/** The host's records as they came: what an honest module that keeps everything returns. */
export const IDENTITY = '(call $result (local.get $ptr) (local.get $len) (local.get $count))'

/**
 * Functions for bodies. `$alloc` is an honest `dps_alloc`; `$get` and `$put` are zigzag varints at `$at` and `$out`; a record is written by
 * `$open`, key, value, headers, `$close` (its length takes five bytes, so that it can be filled in last); `$room` is what may be returned.
 */
const PRELUDE = `
(global $at (mut i32) (i32.const 0)) (global $out (mut i32) (i32.const 0)) (global $first (mut i32) (i32.const 0))
(global $start (mut i32) (i32.const 0)) (global $n (mut i32) (i32.const 0)) (global $room (mut i32) (i32.const 0))
(global $calls (mut i32) (i32.const 0)) (global $seen (mut i32) (i32.const 0)) (global $x (mut i64) (i64.const 1))
(func $alloc (param $n i32) (result i32) (local $pages i32)
  (local.set $pages (i32.add (i32.const 2) (i32.shr_u (local.get $n) (i32.const 16))))
  (if (i32.gt_u (local.get $pages) (memory.size)) (then (drop (memory.grow (i32.sub (local.get $pages) (memory.size))))))
  (i32.const ${INPUT}))
(func $spin (param $n i64)
  (loop $l
    (global.set $x (i64.add (i64.mul (global.get $x) (i64.const 6364136223846793005)) (i64.const 1442695040888963407)))
    (br_if $l (i64.gt_s (local.tee $n (i64.sub (local.get $n) (i64.const 1))) (i64.const 0)))))
(func $result (param $ptr i32) (param $len i32) (param $count i32) (result i32)
  (memory.fill (i32.const ${RESULT}) (i32.const 0) (i32.const 36))
  (i32.store (i32.const ${RESULT}) (local.get $ptr)) (i32.store offset=4 (i32.const ${RESULT}) (local.get $len))
  (i32.store offset=8 (i32.const ${RESULT}) (local.get $count)) (i32.const ${RESULT}))
(func $begin (param $ptr i32) (param $len i32)
  (drop (memory.grow (i32.sub (i32.const 1024) (memory.size))))
  (global.set $at (local.get $ptr)) (global.set $n (i32.const 0))
  (global.set $first (i32.and (i32.add (i32.add (local.get $ptr) (local.get $len)) (i32.const 31)) (i32.const -16)))
  (global.set $out (global.get $first))
  (global.set $room (i32.sub (i32.shl (memory.size) (i32.const 16)) (i32.add (global.get $first) (i32.const 64))))
  (if (i32.lt_u (i32.add (i32.shl (local.get $len) (i32.const 4)) (i32.const 1048576)) (global.get $room))
    (then (global.set $room (i32.add (i32.shl (local.get $len) (i32.const 4)) (i32.const 1048576))))))
(func $get (result i64) (local $v i64) (local $s i64) (local $c i64)
  (loop $l
    (local.set $c (i64.load8_u (global.get $at))) (global.set $at (i32.add (global.get $at) (i32.const 1)))
    (local.set $v (i64.or (local.get $v) (i64.shl (i64.and (local.get $c) (i64.const 127)) (local.get $s))))
    (local.set $s (i64.add (local.get $s) (i64.const 7)))
    (br_if $l (i64.ge_u (local.get $c) (i64.const 128))))
  (i64.xor (i64.shr_u (local.get $v) (i64.const 1)) (i64.sub (i64.const 0) (i64.and (local.get $v) (i64.const 1)))))
(func $byte (param $v i64) (i64.store8 (global.get $out) (local.get $v)) (global.set $out (i32.add (global.get $out) (i32.const 1))))
(func $put (param $v i64)
  (local.set $v (i64.xor (i64.shl (local.get $v) (i64.const 1)) (i64.shr_s (local.get $v) (i64.const 63))))
  (loop $l (if (i64.ge_u (local.get $v) (i64.const 128))
    (then (call $byte (i64.or (local.get $v) (i64.const 128))) (local.set $v (i64.shr_u (local.get $v) (i64.const 7))) (br $l))))
  (call $byte (local.get $v)))
(func $fill (param $byte i32) (param $n i32)
  (memory.fill (global.get $out) (local.get $byte) (local.get $n)) (global.set $out (i32.add (global.get $out) (local.get $n))))
(func $copy (param $from i32) (param $n i32)
  (memory.copy (global.get $out) (local.get $from) (local.get $n)) (global.set $out (i32.add (global.get $out) (local.get $n))))
(func $open (param $delta i64) (param $time i64)
  (global.set $start (global.get $out)) (global.set $out (i32.add (global.get $out) (i32.const 5)))
  (call $byte (i64.const 0)) (call $put (local.get $time)) (call $put (local.get $delta)))
(func $length (param $n i64) (local $i i32)
  (local.set $n (i64.and (i64.xor (i64.shl (local.get $n) (i64.const 1)) (i64.shr_s (local.get $n) (i64.const 63))) (i64.const 4294967295)))
  (loop $l
    (i64.store8 (i32.add (global.get $start) (local.get $i))
      (i64.or (local.get $n) (select (i64.const 128) (i64.const 0) (i32.lt_u (local.get $i) (i32.const 4)))))
    (local.set $n (i64.shr_u (local.get $n) (i64.const 7)))
    (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 5)))))
(func $close
  (call $length (i64.extend_i32_u (i32.sub (global.get $out) (i32.add (global.get $start) (i32.const 5)))))
  (global.set $n (i32.add (global.get $n) (i32.const 1))))
(func $done (result i32)
  (call $result (global.get $first) (i32.sub (global.get $out) (global.get $first)) (global.get $n)))`

const PROCESS_TYPE = `(param $ptr i32) (param $len i32) (param $count i32) (param $partition i32)
  (param $offset i64) (param $time i64) (param $max i64) (param $attributes i32) (result i32)`

/** Text of a batch module of ABI 1 that keeps every record, except for the parts given. */
export function batch({ imports = '', memory = '4 1024', alloc, init, process, own = {}, more = '', text = '' }: BatchParts = {}): string {
  const exported: Record<BatchExport, string> = {
    memory: `(memory (export "memory") ${memory})`,
    dps_abi_1: '(global (export "dps_abi_1") i32 (i32.const 1))',
    dps_alloc: `(func (export "dps_alloc") (param $len i32) (result i32)
      (global.set $calls (i32.add (global.get $calls) (i32.const 1))) ${alloc ?? '(call $alloc (local.get $len))'})`,
    dps_init: `(func (export "dps_init") (param $ptr i32) (param $len i32) (result i32) ${init ?? '(i32.const 0)'})`,
    dps_process: `(func (export "dps_process") ${PROCESS_TYPE}
      (local $i i32) (local $from i32) (local $end i32) (local $delta i64) (local $when i64) (local $stop i32) ${process ?? IDENTITY})`,
    ...own,
  }
  const data = text.length === 0 ? '' : `(data (i32.const ${TEXT}) "${escaped(text)}")`
  return `(module ${imports} ${Object.values(exported).join('\n')} ${PRELUDE} ${data} ${more})`
}

/** A body of `dps_process`: runs `body` for each record, with `$i`, `$from`, `$end`, `$when` and `$delta`, and returns what it wrote. */
export const each = (body: string): string => `(call $begin (local.get $ptr) (local.get $len))
  (block $stop (loop $next
    (br_if $stop (i32.ge_u (local.get $i) (local.get $count)))
    (local.set $from (global.get $at))
    (local.set $end (i32.wrap_i64 (call $get))) (local.set $end (i32.add (local.get $end) (global.get $at)))
    (global.set $at (i32.add (global.get $at) (i32.const 1)))
    (local.set $when (call $get)) (local.set $delta (call $get))
    ${body}
    (global.set $at (local.get $end)) (local.set $i (i32.add (local.get $i) (i32.const 1)))
    (br $next)))
  (call $done)`

/** Passes the record on as it came; for `each`. */
export const KEEP = `(call $copy (local.get $from) (i32.sub (local.get $end) (local.get $from)))
  (global.set $n (i32.add (global.get $n) (i32.const 1)))`

/** Signatures of the Extism functions that `extism` imports, each as `$name`. */
const EXTISM_TYPES: Record<string, string> = {
  alloc: '(param i64) (result i64)',
  free: '(param i64)',
  length: '(param i64) (result i64)',
  load_u8: '(param i64) (result i32)',
  store_u8: '(param i64 i32)',
  store_u64: '(param i64 i64)',
  input_length: '(result i64)',
  input_offset: '(result i64)',
  output_set: '(param i64 i64)',
  error_set: '(param i64)',
  config_get: '(param i64) (result i64)',
  var_set: '(param i64 i64)',
  log_info: '(param i64)',
}

/** Imports of these Extism functions, as `$host_<name>`. */
const extismImports = (names: readonly string[] = Object.keys(EXTISM_TYPES)): string =>
  names.map((name) => `(import "extism:host/env" "${name}" (func $host_${name} ${EXTISM_TYPES[name] ?? ''}))`).join('\n')

/** Text of an Extism plug-in whose function `name` has this body; the body leaves an i32. */
export const extism = (name: string, body: string, more = ''): string => `(module ${extismImports()}
  (memory (export "memory") 1 1024)
  (global $x (mut i64) (i64.const 1)) (global $calls (mut i64) (i64.const 0))
  (func (export "${name}") (result i32) (local $a i64) (local $b i64) (local $i i64)
    (global.set $calls (i64.add (global.get $calls) (i64.const 1))) ${body}) ${more})`

/** Bytes one after the other; a number is one byte. */
export const bytes = (...parts: (number | ArrayLike<number>)[]): Buffer =>
  Buffer.concat(parts.map((part) => (typeof part === 'number' ? Buffer.from([part]) : Buffer.from(part))))

/** An unsigned LEB128. */
export function leb(value: number): number[] {
  const result: number[] = []
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    result.push(rest < 128 ? rest : (rest % 128) | 128)
    if (rest < 128) return result
  }
}

/** A name: its length and its bytes. */
export const nameOf = (text: string | Uint8Array): Buffer => bytes(leb(Buffer.byteLength(text)), Buffer.from(text))

/** Entries of a section. */
export type Entries = { count: number; body: Uint8Array }
export const one = (...parts: (number | ArrayLike<number>)[]): Entries => ({ count: 1, body: bytes(...parts) })
export const many = (count: number, entry: ArrayLike<number>): Entries => {
  const unit = Uint8Array.from(entry)
  return { count, body: Buffer.alloc(count * unit.length, unit) }
}
export const list = (entries: readonly ArrayLike<number>[]): Entries => ({ count: entries.length, body: bytes(...entries) })

export const section = (id: number, body: Uint8Array): Buffer => bytes(id, leb(body.length), body)
export const HEADER = [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0]

const SECTION_IDS = { types: 1, imports: 2, functions: 3, tables: 4, memories: 5, tags: 13, globals: 6, exports: 7 } as const
const LATER_IDS = { start: 8, elements: 9, dataCount: 12, codes: 10, data: 11 } as const
type SectionName = keyof typeof SECTION_IDS | 'elements' | 'codes' | 'data'
/** Entries in addition to those of the skeleton; `memories` replaces its memory. `start` and `dataCount` are numbers. */
export type RawParts = Partial<Record<SectionName, Entries>> & {
  start?: number
  dataCount?: number
  importedFunctions?: number
  calls?: number
}

/**
 * A batch module section by section, with 8 to 64 MiB of memory. Types 0 to 2 are those of the exports, 3 is () -> (); functions 0 to 2 are
 * the exports: `dps_process` calls the next `calls` functions and drops every record.
 */
export function raw(parts: RawParts = {}): Uint8Array {
  const shift = parts.importedFunctions ?? 0
  const calls = bytes(...Array.from({ length: parts.calls ?? 0 }, (_, index) => bytes(0x10, leb(shift + 3 + index))))
  const [I32, I64, BODY] = [0x7f, 0x7e, (value: number[]) => bytes(leb(value.length + 3), 0, 0x41, value, 0x0b)]
  const skeleton: Record<SectionName, Entries> = {
    types: list([
      [0x60, 1, I32, 1, I32],
      [0x60, 2, I32, I32, 1, I32],
      [0x60, 8, I32, I32, I32, I32, I64, I64, I64, I32, 1, I32],
      [0x60, 0, 0],
    ]),
    imports: list([]),
    functions: list([[0], [1], [2]]),
    tables: list([]),
    memories: list([]),
    tags: list([]),
    globals: list([[I32, 0, 0x41, 1, 0x0b]]),
    exports: list([
      bytes(nameOf('memory'), 2, 0),
      bytes(nameOf('dps_abi_1'), 3, 0),
      ...['dps_alloc', 'dps_init', 'dps_process'].map((name, index) => bytes(nameOf(name), 0, leb(index + shift))),
    ]),
    elements: list([]),
    codes: list([BODY([0x80, 0x80, 0x04]), BODY([0]), bodyOf([], bytes(calls, 0x41, 0xc0, 0))]),
    data: list([]),
  }
  const of = (name: SectionName, id: number): Uint8Array => {
    const added = name === 'memories' ? (parts.memories ?? list([[1, 0x80, 1, 0x80, 8]])) : (parts[name] ?? list([]))
    const count = skeleton[name].count + added.count
    return count === 0 ? Buffer.alloc(0) : section(id, bytes(leb(count), skeleton[name].body, added.body))
  }
  const numbered = (id: number, value: number | undefined): Uint8Array =>
    value === undefined ? Buffer.alloc(0) : section(id, bytes(leb(value)))
  return bytes(
    HEADER,
    ...Object.entries(SECTION_IDS).map(([name, id]) => of(name as SectionName, id)),
    numbered(LATER_IDS.start, parts.start),
    of('elements', LATER_IDS.elements),
    numbered(LATER_IDS.dataCount, parts.dataCount),
    of('codes', LATER_IDS.codes),
    of('data', LATER_IDS.data),
  )
}

/** A function body for the code section: counts and types of its locals in turn, then instructions without the final `end`. */
export function bodyOf(locals: readonly number[], instructions: Uint8Array): Uint8Array {
  const groups = locals.map((value, index) => (index % 2 === 0 ? leb(value) : [value]))
  const head = bytes(leb(locals.length / 2), ...groups)
  return bytes(leb(head.length + instructions.length + 1), head, instructions, 0x0b)
}

/** One row of a table in text: what it is called, why it is hostile, and its parts by name. */
export type Row = [name: string, why: string, parts: Record<string, string>]

/**
 * Rows written one below the other: `name | why`, then lines `part: text` for each part, which any other line continues. Parts are those of
 * `BatchParts`, exports of `own`, or what the caller makes of them.
 */
export function rowsOf(text: string): Row[] {
  const rows: Row[] = []
  let part = ''
  for (const line of text.split('\n').map((each) => each.trim())) {
    if (line === '') continue
    const head = /^([\w-]+) \| (.+)$/.exec(line)
    if (head) {
      rows.push([head[1]!, head[2]!, {}])
      continue
    }
    const row = rows.at(-1)
    const start = /^([a-z_0-9]+): ?(.*)$/.exec(line)
    if (!row || (!start && part === '')) throw new Error(`"${line}" belongs to no row`)
    if (start) part = start[1]!
    row[2][part] = `${row[2][part] ?? ''}${start ? start[2] : `\n${line}`}`
  }
  return rows
}

const OWN = ['memory_export', 'dps_abi_1', 'dps_alloc', 'dps_init', 'dps_process']

/** The text of a batch module of these parts; a part named like an export replaces it whole (the memory's is `memory_export`). */
export function batchOf(parts: Record<string, string>): string {
  const own = Object.entries(parts).filter(([name]) => OWN.includes(name))
  const rest = Object.fromEntries(Object.entries(parts).filter(([name]) => !OWN.includes(name)))
  return batch({ ...rest, own: Object.fromEntries(own.map(([name, text]) => [name.replace('_export', ''), text])) })
}
