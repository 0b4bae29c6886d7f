/** Modules that a strict service refuses for what they declare (features, signatures, imports, sizes) or because they are damaged. */
import { batch, batchOf, bodyOf, bytes, extism, HEADER, INPUT, leb, list, many, nameOf, one, raw, rowsOf } from './module-builder.ts'
import { section, toBinary, type Entries, type Hostile, type RawParts, type Row } from './module-builder.ts'
import { refusalOf } from './refusals.ts'
import { WRONG_EXPORTS } from './wrong-exports.ts'

const refused = (name: string, why: string, binary: () => Uint8Array): Hostile => ({
  name,
  why,
  binary,
  expect: 'refused',
  reason: refusalOf(name),
})
const asText = (rows: readonly Row[], prefix = '', added = ''): Hostile[] =>
  rows.map(([name, why, parts]) => refused(`${prefix}${name}`, `${why}${added}`, () => toBinary(batchOf(parts))))

const DROP_ALL = '(i32.const 64)'
/** Features beyond WebAssembly 2.0 with SIMD, and what can be done with them. */
const FEATURES = `
gc-array-6x1gb | B1: six arrays of 1 GB on the V8 heap, kept in a table; the heap limit of a thread ends the whole process
  process: (loop $l (table.set $kept (local.get $i) (array.new_default $big (i32.const 250000000)))
    (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 6)))) ${DROP_ALL}
  more: (type $big (array (mut i32))) (table $kept 6 6 anyref)
gc-array-new-loop | B3: array.new of 100,000 elements without end, which terminate() can hardly interrupt
  process: (loop $l (drop (array.new $a (i64.const 1) (i32.const 100000))) (br $l)) (unreachable)
  more: (type $a (array (mut i64)))
gc-struct-chain | a linked list that grows without end on the V8 heap
  process: (loop $l (global.set $head (struct.new $node (global.get $head))) (br $l)) (unreachable)
  more: (type $node (struct (field (ref null $node)))) (global $head (mut (ref null $node)) (ref.null $node))
gc-i31 | i31 references
  process: (drop (ref.i31 (local.get $len))) ${DROP_ALL}
gc-anyref-global | the GC type hierarchy in a global alone
  more: (global $any (mut anyref) (ref.null any))
gc-data-array | array.new_data from a passive segment
  process: (drop (array.new_data $a $d (i32.const 0) (i32.const 1))) ${DROP_ALL}
  more: (type $a (array i8)) (data $d "x")
typed-function-call | call_ref
  process: (call_ref $v (ref.func $g)) ${DROP_ALL}
  more: (type $v (func)) (elem declare func $g) (func $g)
typed-function-table | a table of non-null typed functions with an initial value
  more: (type $v (func)) (func $g) (table $typed 10000 10000 (ref $v) (ref.func $g)) (elem declare func $g)
tail-call-loop | B3: terminate() can not end a tail call loop
  process: (return_call $forever)
  more: (func $forever (result i32) (return_call $forever))
tail-call-mutual | two functions that tail-call each other
  process: (return_call $a)
  more: (func $a (result i32) (return_call $b)) (func $b (result i32) (return_call $a))
tail-call-indirect | a tail call through a table
  process: (return_call_indirect (type $t) (i32.const 0))
  more: (type $t (func (result i32))) (table 1 1 funcref) (elem (i32.const 0) $f)
    (func $f (type $t) (return_call_indirect (type $t) (i32.const 0)))
tail-call-ref | a tail call through a reference
  process: (return_call_ref $t (ref.func $f))
  more: (type $t (func (result i32))) (elem declare func $f) (func $f (type $t) (return_call_ref $t (ref.func $f)))
tail-call-unused | a tail call in a function that is never called: the upload must see all code
  more: (func $idle (return_call $idle))
exception-thrown | an exception that leaves dps_process: the host gets a WebAssembly.Exception, not a trap
  process: (throw $e)
  more: (tag $e)
exception-caught | try_table around a host function that throws, without end
  imports: (import "env" "abort" (func $abort (param i32 i32 i32 i32)))
  process: (loop $l (block $h (try_table (catch_all $h) (call $abort (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)))) (br $l))
    (unreachable)
exception-legacy | the older try and catch_all, around host functions that throw
  imports: (import "env" "abort" (func $abort (param i32 i32 i32 i32)))
  process: (loop $l (try (do (call $abort (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0))) (catch_all)) (br $l)) (unreachable)
exception-tag-only | a tag that is exported and never thrown
  more: (tag (export "e") (param i32))
atomic-load | an atomic on a memory of its own
  process: (drop (i32.atomic.load (i32.const 64))) ${DROP_ALL}
atomic-add | a read-modify-write
  process: (drop (i64.atomic.rmw.add (i32.const 64) (i64.const 0))) ${DROP_ALL}
atomic-notify | memory.atomic.notify
  process: (drop (memory.atomic.notify (i32.const 64) (i32.const 1))) ${DROP_ALL}
atomic-wait | memory.atomic.wait32 without a time limit
  process: (memory.atomic.wait32 (i32.const 64) (i32.const 0) (i64.const -1))
atomic-fence | a fence, which needs no memory
  process: (atomic.fence) ${DROP_ALL}
stringref | strings on the V8 heap
  process: (drop (string.const "hi")) ${DROP_ALL}
relaxed-simd | relaxed SIMD: results differ between machines, so a replay does
  process: (drop (i32x4.relaxed_trunc_f32x4_s (v128.const i32x4 0 0 0 0))) ${DROP_ALL}
stack-switching | continuations
  process: (drop (cont.new $c (ref.func $g))) ${DROP_ALL}
  more: (type $f (func)) (type $c (cont $f)) (func $g) (elem declare func $g)
wide-arithmetic | i64.add128
  more: (func (export "wide") (result i64 i64) (i64.add128 (i64.const 1) (i64.const 1) (i64.const 1) (i64.const 1)))
half-floats | fp16
  process: (drop (f16x8.splat (f32.const 1))) ${DROP_ALL}
extended-constant | arithmetic in the initial value of a global
  more: (global $sum i32 (i32.add (i32.const 1) (i32.const 2)))`

const MEMORIES: [string, string, Entries][] = [
  ['memory-64-bit', 'memory64', one(5, 1, 16)],
  ['memory-shared', 'a shared memory', one(3, 1, 16)],
  ['memory-shared-without-maximum', 'a shared memory without a maximum, which is malformed as well', one(2, 1)],
  ['memory-two', 'multi-memory', many(2, [1, 1, 16])],
  ['memory-100', 'a hundred memories of 64 MiB', many(100, [1, 1, 0x80, 8])],
  ['memory-none', 'no memory', list([])],
  ['memory-minimum-1025', 'one page above the limit at the start', one(1, leb(1025), leb(2000))],
  ['memory-minimum-4gb', '65,536 pages at the start', one(0, leb(65_536))],
  ['memory-minimum-2-32', 'more pages than 32 bits say', one(0, leb(2 ** 32))],
  ['memory-maximum-2-34', 'a maximum of more than 32 bits, which is malformed', one(1, 1, leb(2 ** 34))],
  ['memory-maximum-below-minimum', 'a maximum below the minimum', one(1, 10, 5)],
  ['memory-maximum-above-65536', 'a maximum that no 32-bit memory can have', one(1, 1, leb(100_000))],
  ['memory-page-of-one-byte', 'custom page sizes', one(8, 1, 0)],
  ['memory-flags-255', 'unknown flags', one(leb(255), 1, 1)],
]

/** Name, element type, minimum, maximum (none: -1) and number of tables. */
const TABLES: [string, number, number, number, number][] = [
  ['table-10m', 0x70, 10_000_000, -1, 1],
  ['table-10m-maximum', 0x70, 1, 10_000_000, 1],
  ['table-10m-both', 0x70, 10_000_000, 10_000_000, 1],
  ['table-10m-extern', 0x6f, 10_000_000, -1, 1],
  ['table-5x10m', 0x70, 10_000_000, -1, 5],
  ['table-maximum-2-32', 0x70, 1, 0xffff_ffff, 1],
  ['table-minimum-2-32', 0x70, 0xffff_ffff, -1, 1],
  ['table-20x1m', 0x70, 1_000_000, 1_000_000, 20],
  ['table-1000x100k', 0x6f, 100_000, 100_000, 1000],
  ['table-90000-empty', 0x70, 0, 0, 90_000],
  ['table-minimum-above-maximum', 0x70, 10, 5, 1],
]
const tables = TABLES.map(([name, type, minimum, maximum, count]) =>
  refused(name, `B2: ${count} table(s) of at least ${minimum} and at most ${maximum < 0 ? 'any' : maximum} elements`, () =>
    raw({ tables: many(count, bytes(type, maximum < 0 ? 0 : 1, leb(minimum), maximum < 0 ? [] : leb(maximum))) }),
  ),
)

const longName = (length: number): Buffer => Buffer.alloc(length, 'x')
const numbered = (count: number): Entries => list(Array.from({ length: count }, (_, index) => bytes(nameOf(`e${index}`), 0, 0)))
const VECTOR = bytes(0x7b, 0, 0xfd, 12, new Uint8Array(16), 0x0b)
const WIDE = bytes(0x60, leb(1000), new Uint8Array(1000).fill(0x7e), 0)
const SEED = bytes(nameOf('env'), nameOf('seed'), 0, 3)
const HUGE = bytes(0, 0x41, 0, 0x0b, leb(10 << 20))

const COUNTS: [string, string, () => RawParts][] = [
  ['table-64-bit', 'a table with 64-bit indexes', () => ({ tables: one(0x70, 4, 1) })],
  ['table-shared', 'a shared table', () => ({ tables: one(0x70, 3, 1, 1) })],
  ['elements-3m', 'a passive segment of 3 million functions', () => ({ elements: one(1, 0, leb(3e6), new Uint8Array(3e6)) })],
  ['elements-100k-segments', 'a hundred thousand passive segments', () => ({ elements: many(1e5, [1, 0, 1, 0]) })],
  ['globals-100k', 'a hundred thousand globals', () => ({ globals: many(1e5, [0x7f, 1, 0x41, 0, 0x0b]) })],
  ['globals-1m', 'nearly a million globals', () => ({ globals: many(999_990, [0x7e, 1, 0x42, 0, 0x0b]) })],
  ['globals-100k-vectors', 'a hundred thousand vectors', () => ({ globals: many(1e5, VECTOR) })],
  ['functions-200k', '200,000 functions', () => ({ functions: many(2e5, [3]), codes: many(2e5, [2, 0, 0x0b]) })],
  ['functions-990k', '990,000 functions', () => ({ functions: many(99e4, [3]), codes: many(99e4, [2, 0, 0x0b]) })],
  ['types-500k', 'five hundred thousand types', () => ({ types: many(5e5, [0x60, 0, 0]) })],
  ['types-wide', 'five thousand types of a thousand parameters', () => ({ types: many(5000, WIDE) })],
  ['exports-100k', 'a hundred thousand exports', () => ({ exports: numbered(1e5) })],
  ['exports-twice', 'the same export twice', () => ({ exports: one(nameOf('memory'), 2, 0) })],
  ['export-name-5mb', 'an export with a name of 5 MB', () => ({ exports: one(nameOf(longName(5e6)), 0, 0) })],
  ['imports-100k', '100,000 imports of an allowed function', () => ({ importedFunctions: 1e5, imports: many(1e5, SEED) })],
  ['data-90k-segments', 'ninety thousand data segments', () => ({ data: many(9e4, [0, 0x41, 0, 0x0b, 1, 7]) })],
  ['data-10mb', 'a segment of 10 MiB: the file is too large', () => ({ data: one(HUGE, new Uint8Array(10 << 20)) })],
  ['data-outside', 'a segment outside of the memory: the trial start fails', () => ({ data: one(0, 0x41, 0x7f, 0x0b, 1, 7) })],
  ['data-count-lies', 'a data count of 100,000 without data', () => ({ dataCount: 1e5 })],
]

const [BLOCK, LOOP, IF, END, BR_IF, GET] = [0x02, 0x03, 0x04, 0x0b, 0x0d, 0x20]
const MERGES = { block: [BLOCK, 0x40, GET, 0, BR_IF, 0, END], if: [GET, 0, IF, 0x40, END], loop: [LOOP, 0x40, GET, 0, BR_IF, 0, END] }
const [I32, F64, V128, EXTERN] = [0x7f, 0x7c, 0x7b, 0x6f]

/** That many functions of this body, all of which `dps_process` calls: V8 compiles a function only then. */
const inFunctions = (count: number, body: Uint8Array): Uint8Array =>
  raw({ functions: many(count, [3]), codes: many(count, body), calls: count })

/**
 * B4: locals × merges, in one function or several: the time and memory to compile grow with the product. Never compile these yourself.
 * Their locals and their bytes are within the limits, and of several functions each is: nothing but the product is too much.
 */
const BOMBS: [string, number, number, keyof typeof MERGES, number, number][] = [
  ['bomb-19k-locals-5k-blocks', 19_000, 5000, 'block', 1, I32],
  ['bomb-19k-locals-5k-ifs', 19_000, 5000, 'if', 1, I32],
  ['bomb-19k-locals-5k-loops', 19_000, 5000, 'loop', 1, I32],
  ['bomb-19k-vectors-1k-loops', 19_000, 1000, 'loop', 1, V128],
  ['bomb-19k-references-20k-ifs', 19_000, 20_000, 'if', 1, EXTERN],
  ['bomb-19k-locals-100k-loops', 19_000, 100_000, 'loop', 1, F64],
  ['bomb-5k-locals-400k-ifs', 5000, 400_000, 'if', 1, I32],
  ['bomb-300-functions', 19_000, 200, 'if', 300, I32],
  ['bomb-2000-functions', 19_000, 100, 'block', 2000, I32],
]
const bombs = BOMBS.map(([name, locals, merges, kind, functions, type]) =>
  refused(name, `B4: ${functions} function(s) of ${locals} locals and ${merges} ${kind}s: gigabytes and minutes to compile`, () =>
    inFunctions(functions, bodyOf([1, I32, locals, type], many(merges, MERGES[kind]).body)),
  ),
)

const ends = (depth: number): Uint8Array => new Uint8Array(depth).fill(END)
const nested = (open: number[], depth: number, inside: Uint8Array = bytes()) => bytes(many(depth, open).body, inside, ends(depth))
const brTable = (entries: number): Uint8Array => bytes(0x41, 0, 0x0e, leb(entries), new Uint8Array(entries), 0)
const operands = (count: number, above: Uint8Array) => bytes(many(count, [0x41, 0]).body, above, new Uint8Array(count).fill(0x1a))
/**
 * Code that is large or deep in one way, in that many functions with that many locals. Only those that are named by a size have too many
 * bytes.
 */
const CODE: [string, string, () => Uint8Array, number?, number?][] = [
  ['nested-blocks-100k', 'blocks nested 100,000 deep', () => nested([BLOCK, 0x40], 1e5)],
  ['nested-blocks-690k', 'blocks nested 690,000 deep', () => nested([BLOCK, 0x40], 690_000)],
  ['nested-loops-100k', 'loops nested 100,000 deep', () => nested([LOOP, 0x40], 1e5)],
  ['nested-ifs-100k', 'ifs nested 100,000 deep', () => nested([0x41, 1, IF, 0x40], 1e5)],
  ['br-table-65520', 'a hundred br_tables with as many targets as V8 takes', () => bytes(BLOCK, 0x40, brTable(65_520), END), 100],
  ['br-table-2m', 'a br_table with two million targets', () => brTable(2e6)],
  [
    'br-table-deep',
    '400 br_tables of 5,000 targets, 900 deep',
    () => nested([BLOCK, 0x40], 900, many(400, bytes(BLOCK, 0x40, brTable(5000), END)).body),
    1,
    100,
  ],
  ['operands-600k', '600,000 operands on the stack below 100 ifs', () => operands(600_000, many(100, [0x41, 0, IF, 0x40, END]).body)],
  ['function-of-9mb', 'one function of more bytes than V8 takes', () => new Uint8Array(9e6).fill(1)],
  ['function-of-7mb', 'one function of 7 MB, which V8 would take', () => bytes(0x41, 0, many(2_300_000, [0x41, 1, 0x6a]).body, 0x1a)],
  ['locals-50k-times-10k', 'ten thousand functions of 50,000 locals each in 80 KB', () => bytes(), 10_000, 50_000],
]
const code = CODE.map(([name, why, instructions, functions = 1, locals = 0]) =>
  refused(name, why, () => inFunctions(functions, bodyOf(locals > 0 ? [locals, I32] : [], instructions()))),
)

const RESULTS = {
  'two-values': '(result i32 i32) (i32.const 64) (i32.const 64)',
  externref: '(result externref) (ref.null extern)',
  funcref: '(result funcref) (ref.null func)',
  f64: '(result f64) (f64.const 64)',
  f32: '(result f32) (f32.const nan)',
  i64: '(result i64) (i64.const 64)',
  v128: '(result v128) (v128.const i32x4 64 0 0 0)',
  nothing: '',
}
const PARAMETERS = { process: 'i32 i32 i32 i32 i64 i64 i64 i32', alloc: 'i32', init: 'i32 i32' }
const wrongResults = Object.entries(RESULTS).flatMap(([name, result]) =>
  Object.entries(PARAMETERS).map(([of, parameters]): Row => [
    `${of}-returns-${name}`,
    `dps_${of} returns ${name} where the ABI says i32`,
    { [`dps_${of}`]: `(func (export "dps_${of}") (param ${parameters}) ${result})` },
  ]),
)

/** Allowed names with types that the host's functions do not have. */
const IMPORT_TYPES = `
alloc-of-externref | Extism's alloc with references
  imports: (import "extism:host/env" "alloc" (func (param externref) (result externref)))
seed-of-two-values | env.seed with two results
  imports: (import "env" "seed" (func (result f64 f64)))
clock-of-function | env.Date.now that gives a function
  imports: (import "env" "Date.now" (func (result funcref)))
log-of-function | env.console.log that takes a function
  imports: (import "env" "console.log" (func (param funcref)))`

/** Names that a look-up in an object finds although they were never put there, and other imports that are not allowed. */
const INHERITED = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'valueOf', '__defineGetter__']
const IMPORTS: [string, string | Uint8Array, string | Uint8Array, ...number[]][] = [
  ...INHERITED.map((name): [string, string, string, number, number] => [`module-${name}`, name, 'call', 0, 3]),
  ...INHERITED.map((name): [string, string, string, number, number] => [`name-${name}`, 'env', name, 0, 3]),
  ['empty-names', '', '', 0, 3],
  ['homoglyph', '\u0435nv', 'abort', 0, 3],
  ['upper-case', 'ENV', 'abort', 0, 3],
  ['trailing-space', 'env ', 'abort', 0, 3],
  ['nul', 'env\0', 'abort', 0, 3],
  ['line-break-and-colour', 'env', 'x\n\u001b[31mroot logged in\u202e', 0, 3],
  ['markup', 'env', '<script>alert(1)</script>', 0, 3],
  ['name-not-utf8', 'env', Uint8Array.of(0xff, 0xfe), 0, 3],
  ['module-name-5mb', longName(5e6), 'x', 0, 3],
  ['name-5mb', 'env', longName(5e6), 0, 3],
  ['name-99kb', 'env', longName(99_000), 0, 3],
  ['http-request', 'extism:host/env', 'http_request', 0, 3],
  ['files', 'wasi_snapshot_preview1', 'path_open', 0, 3],
  ['sockets', 'wasi_snapshot_preview1', 'sock_accept', 0, 3],
  ['wasi-unstable', 'wasi_unstable', 'fd_write', 0, 3],
  ['javascript-strings', 'wasm:js-string', 'length', 0, 3],
  ['memory', 'env', 'memory', 2, 0, 1],
  ['memory-shared', 'env', 'memory', 2, 3, 1, 1],
  ['table', 'env', 'table', 1, 0x70, 0, 1],
  ['global', 'env', 'abort', 3, 0x7f, 0],
  ['tag', 'env', 'abort', 4, 0, 3],
]
const imports = IMPORTS.map(([name, from, called, ...kind]) =>
  refused(`import-${name}`, `imports what is not allowed (${name})`, () => {
    const memories = kind[0] === 2 ? { memories: list([]) } : {}
    return raw({ imports: one(nameOf(from), nameOf(called), kind), importedFunctions: kind[0] === 0 ? 1 : 0, ...memories })
  }),
)

const valid = raw()
const memoryAt = Buffer.from(valid).indexOf(Buffer.from([5, 6, 1, 1, 0x80, 1, 0x80, 8]))
const [ahead, limits, behind] = [valid.subarray(0, memoryAt), valid.subarray(memoryAt + 2, memoryAt + 8), valid.subarray(memoryAt + 8)]
const CUSTOM = section(0, bytes(nameOf('x'), new Uint8Array(100)))

const DAMAGED: [string, string, () => Uint8Array][] = [
  ['empty', 'no bytes', () => bytes()],
  ['four-bytes', 'the magic number alone', () => valid.subarray(0, 4)],
  ['header-only', 'a module without sections', () => valid.subarray(0, 8)],
  ['version-2', 'an unknown version', () => bytes(HEADER.slice(0, 4), [2, 0, 0, 0], valid.subarray(8))],
  ['component', 'a component', () => bytes(HEADER.slice(0, 4), [0x0d, 0, 1, 0], valid.subarray(8))],
  ['text', 'the text format', () => Buffer.from(batch())],
  ['javascript', 'a script', () => Buffer.from('process.exit(1)')],
  ['gzip', 'a compressed file', () => bytes([0x1f, 0x8b, 8, 0], valid)],
  ['elf', 'a program', () => bytes([0x7f, 0x45, 0x4c, 0x46], new Uint8Array(1000))],
  ['zeros-10mb', 'zeros', () => new Uint8Array(10 << 20)],
  ['cut-in-types', 'cut off after 20 bytes', () => valid.subarray(0, 20)],
  ['cut-in-code', 'cut off at nine tenths', () => valid.subarray(0, Math.floor(valid.length * 0.9))],
  ['cut-by-one', 'cut off by one byte', () => valid.subarray(0, -1)],
  ['one-byte-more', 'a byte behind the last section', () => bytes(valid, 0)],
  ['unknown-section', 'section 99', () => bytes(valid, section(99, Buffer.from('x')))],
  ['section-of-4gb', 'a section that claims 4 GB', () => bytes(valid, 0, [0xff, 0xff, 0xff, 0xff, 0x0f])],
  ['section-length-endless', 'a length that never ends', () => bytes(HEADER, 1, new Uint8Array(100).fill(0x80))],
  ['sections-out-of-order', 'types at the end', () => bytes(valid, section(1, Buffer.from([0])))],
  ['memory-section-twice', 'a second memory section, of 4 GB', () => bytes(valid, section(5, bytes(1, 0, leb(65_536))))],
  ['memory-section-trailing', 'bytes behind the limits that a rewrite would hide', () => bytes(ahead, 5, 8, limits, 1, 1, behind)],
  ['memory-section-reads-on', 'limits only if the reader goes on into the next section', () => bytes(ahead, 5, 1, 1, CUSTOM, behind)],
  ['function-without-code', 'one more function than bodies', () => raw({ functions: one(3) })],
  ['code-without-function', 'one more body than functions', () => raw({ codes: one(2, 0, END) })],
  ['type-unknown', 'a function of no type', () => raw({ functions: one(77), codes: one(2, 0, END) })],
  ['type-mismatch', 'an i64 where an i32 must be', () => raw({ functions: one(0), codes: one(4, 0, 0x42, 0, END) })],
  ['opcode-unknown', 'an unknown instruction', () => raw({ functions: one(3), codes: one(3, 0, 0xff, END) })],
  ['branch-out-of-range', 'a branch to no block', () => raw({ functions: one(3), codes: one(4, 0, 0x0c, 99, END) })],
  [
    'locals-above-2-32',
    'locals whose sum passes 32 bits',
    () => raw({ functions: one(3), codes: one(bodyOf([2 ** 32 - 1, I32, 2 ** 32 - 1, I32], bytes())) }),
  ],
  ['start-takes-parameters', 'a start function with parameters', () => raw({ start: 0 })],
]

/** What is wrong before the first record: endless or failing code, and lying answers. */
const STARTING = {
  loop: '(loop $l (br $l))',
  trap: '(unreachable)',
  recursion: '(call $deep)',
  fill: `(loop $l (memory.fill (i32.const ${INPUT}) (i32.const 1) (i32.const 190000)) (br $l))`,
}
const deep = '(func $deep (call $deep) (call $spin (i64.const 1)))'
const starts = Object.entries(STARTING).flatMap(([name, body]): Row[] => [
  [`start-${name}`, `${name} in the start function`, { more: `${deep} (start $go) (func $go ${body})` }],
  [`initialize-${name}`, `${name} in _initialize`, { more: `${deep} (func (export "_initialize") ${body})` }],
  [`hs-init-${name}`, `${name} in hs_init, which Extism calls by itself`, { more: `${deep} (func (export "hs_init") ${body})` }],
  [`init-${name}`, `${name} in dps_init`, { more: deep, init: `${body} (i32.const 0)` }],
  [`alloc-${name}`, `${name} in dps_alloc`, { more: deep, alloc: `${body} (i32.const 0)` }],
])
const STARTS = `
start-table-grows | a table grown by a million elements at a time in the start function, which then never ends
  more: (table $t 1 externref) (start $go) (func $go (loop $l (drop (table.grow $t (ref.null extern) (i32.const 1000000))) (br $l)))
start-host-calls | host calls without end from the start function
  imports: (import "wasi_snapshot_preview1" "sched_yield" (func $yield (result i32)))
  more: (start $go) (func $go (loop $l (drop (call $yield)) (br $l)))
init-answers-minus-one | dps_init answers with an error text outside of the memory
  init: (i32.const -1)
init-answers-end | dps_init answers with an error text at the memory's end
  init: (i32.sub (i32.shl (memory.size) (i32.const 16)) (i32.const 1))
init-text-of-4gb | an error text of 4 GB
  init: (i32.store (i32.const 64) (i32.const -1)) (i32.const 64)
init-text-not-utf8 | an error text that is not UTF-8, with control characters
  init: (i32.store (i32.const 64) (i32.const 8)) (i64.store (i32.const 68) (i64.const 0x324a5b1b0a00feff)) (i32.const 64)
alloc-answers-minus-one | dps_alloc answers an address outside of the memory
  alloc: (i32.const -1)
alloc-answers-end | dps_alloc answers the last byte of the memory
  alloc: (i32.sub (i32.shl (memory.size) (i32.const 16)) (i32.const 1))`

const plugIn = (name: string, why: string, more: string, from = '', to = ''): Hostile =>
  refused(`extism-${name}`, why, () => toBinary(extism('map', '(i32.const 0)', more).replace(from, to)))

const ALLOC_OF_I32 = '(start $go) (func $go (drop (call $host_alloc (i32.const 8))))'
const BLOCKS_AT_START = '(start $go) (func $go (loop $l (drop (call $host_alloc (i64.const 1073741824))) (br $l)))'

export const REFUSED: readonly Hostile[] = [
  ...asText(rowsOf(FEATURES)),
  ...MEMORIES.map(([name, why, memories]) => refused(name, why, () => raw({ memories }))),
  ...tables,
  ...COUNTS.map(([name, why, parts]) => refused(name, why, () => raw(parts()))),
  ...bombs,
  ...code,
  ...asText([...wrongResults, ...rowsOf(WRONG_EXPORTS)], 'export-'),
  ...imports,
  ...asText(rowsOf(IMPORT_TYPES), 'import-type-'),
  ...DAMAGED.map(([name, why, binary]) => refused(`damaged-${name}`, why, binary)),
  ...asText([...starts, ...rowsOf(STARTS)], '', ': the trial start fails'),
  plugIn('start-loop', 'an endless loop in the start function of a plug-in', '(start $go) (func $go (loop $l (br $l)))'),
  plugIn('start-blocks', 'B6: blocks of 1 GiB in the host from the start function of a plug-in', BLOCKS_AT_START),
  plugIn(
    'start-alloc-of-i32',
    "Extism's alloc with 32 bits, called in the start function",
    ALLOC_OF_I32,
    'i64) (result i64)',
    'i32) (result i32)',
  ),
  plugIn('takes-i64', 'a parameter: every call throws a TypeError', '', '(func (export "map")', '(func (export "map") (param i64)'),
  plugIn('memory-not-exported', 'a plug-in without its memory', '', '(memory (export "memory")', '(memory'),
]
