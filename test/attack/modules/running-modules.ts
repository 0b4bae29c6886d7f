/** Batch modules that fit the ABI, start honestly, and misbehave once records come: in their calls and in their result blocks. */
import { batchOf, each, IDENTITY, INPUT, KEEP, RESULT, rowsOf, TEXT, toBinary, type Hostile, type Row } from './module-builder.ts'

const FULL = '1024 1024'
/**
 * Steps of `$spin` that take about a millisecond (measured on Node 24: 710,000 to 730,000). Slower machines take longer: what spins at the
 * start takes less than a third of the 5 s of CPU time that a trial start has.
 */
const SPIN_MS = 720_000
const spin = (ms: number): string => `(call $spin (i64.const ${ms * SPIN_MS}))`
const NOTHING = '(func $nothing) (elem declare func $nothing)'
const TABLE = `(table $t 10000 10000 funcref) ${NOTHING}`

/** Bodies of a loop without end, so that only the deadline of a call ends it; `before` comes first. */
const ENDLESS = `
empty | a loop of nothing
  process:
calls | a loop of calls
  process: (call $spin (i64.const 1))
indirect-calls | calls through a table
  process: (call_indirect (type $v) (i32.const 0))
  more: (type $v (func)) (table 1 1 funcref) (elem (i32.const 0) $f) (func $f)
memory-fill | fills 60 MiB in one instruction
  memory: ${FULL}
  process: (memory.fill (i32.const ${INPUT}) (i32.const 1) (i32.const 62914560))
memory-copy | copies 32 MiB in one instruction
  memory: ${FULL}
  process: (memory.copy (i32.const ${INPUT}) (i32.const 33554432) (i32.const 33000000))
memory-copy-overlapping | moves 60 MiB by one byte
  memory: ${FULL}
  process: (memory.copy (i32.const ${INPUT + 1}) (i32.const ${INPUT}) (i32.const 62914560))
memory-init | copies a passive segment
  process: (memory.init $d (i32.const 8192) (i32.const 0) (i32.const 4096))
  more: (data $d "${'x'.repeat(4096)}")
table-fill-null | B3: fills a table of 10,000 elements with null
  process: (table.fill $t (i32.const 0) (ref.null func) (i32.const 10000))
  more: ${TABLE}
table-fill-function | B3: fills a table of 10,000 elements with a function
  process: (table.fill $t (i32.const 0) (ref.func $nothing) (i32.const 10000))
  more: ${TABLE}
table-copy | moves a table by one element
  process: (table.copy $t $t (i32.const 1) (i32.const 0) (i32.const 9999))
  more: ${TABLE}
table-init | copies a passive segment into a table
  process: (table.init $t $e (i32.const 0) (i32.const 0) (i32.const 1000))
  more: ${TABLE} (elem $e func ${'$nothing '.repeat(1000)})
table-set | sets one element again and again
  process: (table.set $t (i32.const 0) (ref.func $nothing))
  more: ${TABLE}
table-grow-refused | asks for more than the maximum of a table
  process: (drop (table.grow $t (ref.null func) (i32.const 1000000)))
  more: ${TABLE}
table-grow | B2: grows a table without a maximum by 10,000 elements at a time
  process: (drop (table.grow $t (ref.null extern) (i32.const 10000)))
  more: (table $t 1 externref)
table-grow-function | B2: the same with functions, one element at a time
  process: (drop (table.grow $t (ref.func $nothing) (i32.const 1)))
  more: (table $t 1 funcref) ${NOTHING}
memory-grow-refused | asks for more than the maximum of the memory
  process: (drop (memory.grow (i32.const 65535)))
divisions | divides 64-bit integers
  process: (global.set $x (i64.add (i64.const -3) (i64.div_s (i64.const -9223372036854775807) (i64.or (global.get $x) (i64.const 3)))))
denormals | calculates with denormal numbers
  process: (global.set $f (f64.div (f64.add (global.get $f) (f64.const 5e-324)) (f64.const 1.5)))
  more: (global $f (mut f64) (f64.const 1e-310))
cache-misses | reads at random in 64 MiB
  memory: ${FULL}
  process: (call $spin (i64.const 1))
    (drop (i32.load8_u (i32.and (i32.wrap_i64 (i64.shr_u (global.get $x) (i64.const 33))) (i32.const 67108863))))
vectors | multiplies vectors
  process: (global.set $v (i64x2.mul (global.get $v) (v128.const i32x4 3 5 7 9)))
  more: (global $v (mut v128) (v128.const i32x4 1 2 3 4))
host-clock | asks for the time
  imports: (import "env" "Date.now" (func $host (result f64)))
  process: (drop (call $host))
host-yield | yields
  imports: (import "wasi_snapshot_preview1" "sched_yield" (func $host (result i32)))
  process: (drop (call $host))
host-random | asks for 60 MiB of random bytes
  memory: ${FULL}
  imports: (import "wasi_snapshot_preview1" "random_get" (func $host (param i32 i32) (result i32)))
  process: (drop (call $host (i32.const ${INPUT}) (i32.const 62914560)))
host-log | log flood: lines of 64 KiB
  memory: 8 1024
  imports: (import "env" "console.log" (func $host (param i32)))
  before: (i32.store (i32.const 131068) (i32.const 65536))
  process: (call $host (i32.const 131072))
host-log-empty | log flood: lines from outside of its memory, which are empty
  imports: (import "env" "console.log" (func $host (param i32)))
  process: (call $host (i32.const -1))
host-write-nothing | eight million empty vectors to standard output
  memory: ${FULL}
  imports: (import "wasi_snapshot_preview1" "fd_write" (func $host (param i32 i32 i32 i32) (result i32)))
  process: (drop (call $host (i32.const 1) (i32.const ${INPUT}) (i32.const 8000000) (i32.const 0)))
host-write-bytes | log flood: 65,536 lines of one byte in one call
  memory: ${FULL}
  imports: (import "wasi_snapshot_preview1" "fd_write" (func $host (param i32 i32 i32 i32) (result i32)))
  before: (loop $l (i64.store (i32.add (i32.const 8388608) (i32.shl (local.get $i) (i32.const 3))) (i64.const 0x0000000100000040))
    (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 65536))))
  process: (drop (call $host (i32.const 1) (i32.const 8388608) (i32.const 65536) (i32.const 0)))`
const endless = rowsOf(ENDLESS).map(([name, why, { before = '', process = '', ...parts }]): Row => [
  `endless-${name}`,
  why,
  { ...parts, process: `${before} (loop $again ${process} (br $again)) (unreachable)` },
])

const nth = (n: number): string => `(i64.eqz (i64.rem_u (i64.add (local.get $offset) (local.get $delta)) (i64.const ${n})))`
/** Conditions for a record, and for a call (the first call of dps_alloc is that of the start). */
const IN_RECORD = { 'each-record': '(i32.const 1)', 'offset-97': nth(97), 'offset-1009': nth(1009) }
const IN_CALL = {
  'each-call': '(i32.const 1)',
  'second-call': '(i32.gt_u (global.get $calls) (i32.const 2))',
  // Small batches are gathered: in the time that a pipeline runs there are not many calls more.
  'call-10': '(i32.gt_u (global.get $calls) (i32.const 10))',
  'in-groups': '(i32.gt_u (local.get $count) (i32.const 1))',
  // The attacker's streams get five records a partition at a time; one alone would not come.
  'below-six': '(i32.lt_u (local.get $count) (i32.const 6))',
  'odd-partition': '(i32.and (local.get $partition) (i32.const 1))',
}
const LATER = '(i32.gt_u (global.get $calls) (i32.const 1))'
const HANG = '(loop $hang (br $hang))'
const when = (condition: string, act: string): string => `(if ${condition} (then ${act}))`
const conditional = (does: string, why: string, act: string): Row[] => [
  ...Object.entries(IN_RECORD).map(([at, is]): Row => [`${does}-${at}`, `${why} (${at})`, { process: each(`${when(is, act)} ${KEEP}`) }]),
  ...Object.entries(IN_CALL).map(([at, is]): Row => [`${does}-${at}`, `${why} (${at})`, { process: `${when(is, act)} ${IDENTITY}` }]),
]

const slow = [
  ...[20, 200, 1000].map((ms): Row => [
    `slow-${ms}ms-a-record`,
    `B5: merely slow, ${ms} ms a record`,
    { process: each(`${spin(ms)} ${KEEP}`) },
  ]),
  ...[60, 140, 900, 4500].map((ms): Row => [
    `slow-${ms}ms-a-call`,
    `B5: merely slow, ${ms} ms a call`,
    { process: `${spin(ms)} ${IDENTITY}` },
  ]),
]

/** A function `$has`: whether the 18 bytes at `TEXT` occur in a range. */
const HAS = `(func $has (param $p i32) (param $n i32) (result i32) (local $stop i32)
  (local.set $stop (i32.sub (i32.add (local.get $p) (local.get $n)) (i32.const 18)))
  (loop $l
    (if (i32.and (i32.and (i64.eq (i64.load (local.get $p)) (i64.load (i32.const ${TEXT})))
        (i64.eq (i64.load offset=8 (local.get $p)) (i64.load offset=8 (i32.const ${TEXT}))))
        (i32.eq (i32.load16_u offset=16 (local.get $p)) (i32.load16_u offset=16 (i32.const ${TEXT})))) (then (return (i32.const 1))))
    (local.set $p (i32.add (local.get $p) (i32.const 1)))
    (br_if $l (i32.le_s (local.get $p) (local.get $stop))))
  (i32.const 0))`
const IN_PRODUCTION = '(i32.eqz (call $has (local.get $ptr) (local.get $len)))'

const OTHER = `
slow-start | a second and a half at each start of an instance
  init: ${spin(1500)} (i32.const 0)
slow-alloc | 500 ms in dps_alloc, but not at the start
  alloc: ${when(LATER, spin(500))} (call $alloc (local.get $len))
hang-alloc | dps_alloc does not return, but it did at the start
  alloc: ${when(LATER, HANG)} (call $alloc (local.get $len))
trap-alloc | dps_alloc traps, but not at the start
  alloc: ${when(LATER, '(unreachable)')} (call $alloc (local.get $len))
hang-in-production | dps_init loops where it is given an output prefix: at the trial start there is none, in a lane there is
  init: ${when(IN_PRODUCTION, HANG)} (i32.const 0)
  text: "output_prefix":""
  more: ${HAS}
trap-in-production | dps_init traps where it is given an output prefix
  init: ${when(IN_PRODUCTION, '(unreachable)')} (i32.const 0)
  text: "output_prefix":""
  more: ${HAS}
trap-in-groups-full-memory | writes 64 MiB at each start, traps unless a record comes alone: an instance each, and none counts as lost
  memory: ${FULL}
  init: (memory.fill (i32.const 131072) (i32.const 1) (i32.const 66977792)) (i32.const 0)
  process: ${when(IN_CALL['in-groups'], '(unreachable)')} ${IDENTITY}
trap-in-groups-slow-start | a second at each start, traps unless a record comes alone: a second for every record, none counts as lost
  init: ${spin(1000)} (i32.const 0)
  process: ${when(IN_CALL['in-groups'], '(unreachable)')} ${IDENTITY}
memory-grown | B7: grows to its maximum and writes 40 MB of it at each call
  process: (call $begin (local.get $ptr) (local.get $len)) (memory.fill (i32.const 27108864) (i32.const 1) (i32.const 40000000)) ${IDENTITY}
memory-touched | B7: writes 56 MiB at each call
  memory: ${FULL}
  process: (memory.fill (i32.const 8388608) (i32.load8_u (local.get $ptr)) (i32.const 58720256)) ${IDENTITY}
memory-in-alloc | grows by a page at each call, and traps when there is none left
  memory: 1016 1024
  alloc: ${when('(i32.eq (memory.grow (i32.const 1)) (i32.const -1))', '(unreachable)')} (call $alloc (local.get $len))
padded | a million empty custom sections, and nothing else that is wrong
  process: ${IDENTITY}
drops-all | every record is filtered
  process: (call $result (local.get $ptr) (i32.const 0) (i32.const 0))`

const THROUGH_TABLE = '(call_indirect (type $v) (i32.const 0))'
const TRAPS = `
division | a division by zero
  process: (drop (i32.div_u (local.get $len) (i32.const 0)))
truncation | not a number as an integer
  process: (drop (i32.trunc_f64_s (f64.const nan)))
load | a read outside of the memory
  process: (drop (i32.load (i32.const -4)))
store | a write outside of the memory
  process: (i64.store (i32.const -8) (i64.const 0))
fill | a fill of 4 GB
  process: (memory.fill (i32.const 0) (i32.const 0) (i32.const -1))
null-call | a call of nothing
  process: ${THROUGH_TABLE}
  more: (type $v (func)) (table 2 2 funcref)
wrong-type-call | a call of another type
  process: ${THROUGH_TABLE}
  more: (type $v (func)) (table 1 1 funcref) (elem (i32.const 0) $f) (func $f (param f64))
recursion | a recursion without end
  process: (drop (call $a (i64.const 0)))
  more: (func $a (param i64) (result i64) (i64.add (call $a (i64.add (local.get 0) (i64.const 1))) (i64.const 1)))
recursion-mutual | two functions that call each other
  process: (call $a)
  more: (func $a (call $b) (call $spin (i64.const 1))) (func $b (call $a) (call $spin (i64.const 1)))
recursion-wide | a recursion with large frames
  process: (call $a (f64.const 1))
  more: (func $a (param f64) ${'(local v128)'.repeat(200)} (call $a (local.get 0)) (call $spin (i64.const 1)))
recursion-indirect | a recursion through a table
  process: ${THROUGH_TABLE}
  more: (type $v (func)) (table 1 1 funcref) (elem (i32.const 0) $f) (func $f ${THROUGH_TABLE} (call $spin (i64.const 1)))
abort-with-64-kib | an abort whose text has 64 KiB
  memory: 8 1024
  imports: (import "env" "abort" (func $host (param i32 i32 i32 i32)))
  process: (i32.store (i32.const 131068) (i32.const 65536))
    (call $host (i32.const 131072) (i32.const 131072) (i32.const -1) (i32.const -1))
proc-exit | ends the process, as it thinks
  imports: (import "wasi_snapshot_preview1" "proc_exit" (func $host (param i32)))
  process: (call $host (i32.const 0))
clock-outside | the time to an address outside of its memory
  imports: (import "wasi_snapshot_preview1" "clock_time_get" (func $host (param i32 i64 i32) (result i32)))
  process: (drop (call $host (i32.const 0) (i64.const 0) (i32.const -1)))
write-outside | vectors outside of its memory
  imports: (import "wasi_snapshot_preview1" "fd_write" (func $host (param i32 i32 i32 i32) (result i32)))
  process: (drop (call $host (i32.const 1) (i32.const 262136) (i32.const 2147483647) (i32.const -1)))`
const traps = rowsOf(TRAPS).map(([name, why, { process, ...parts }]): Row => [
  `trap-by-${name}`,
  `every call fails: ${why}`,
  { ...parts, process: `${process} ${IDENTITY}` },
])

const end = (less: number): string => `(i32.sub (i32.shl (memory.size) (i32.const 16)) (i32.const ${less}))`
const ADDRESSES = {
  zero: '(i32.const 0)',
  'minus-one': '(i32.const -1)',
  sign: '(i32.const -2147483648)',
  'end-less-8': end(8),
  end: end(0),
}
const addresses = Object.entries(ADDRESSES).flatMap(([name, address]): Row[] => [
  [
    `alloc-later-${name}`,
    `dps_alloc lies, but not at the start (${name})`,
    { alloc: `(if (result i32) ${LATER} (then ${address}) (else (call $alloc (local.get $len))))` },
  ],
  [`result-at-${name}`, `dps_process returns the address of no result block (${name})`, { process: address }],
])

const FIELDS = { ptr: 0, length: 4, count: 8, errPtr: 12, errLength: 16, errCount: 20, statePtr: 24, stateLength: 28, stateCount: 32 }
type Lie = Partial<Record<keyof typeof FIELDS, string | number>>
const i32 = (value: string | number): string => (typeof value === 'number' ? `(i32.const ${value})` : value)
const lie = (fields: Lie): string => {
  const stores = Object.entries(fields).map(
    ([field, value]) => `(i32.store offset=${FIELDS[field as keyof Lie]} ${i32(RESULT)} ${i32(value)})`,
  )
  return `(drop ${IDENTITY}) ${stores.join(' ')} ${i32(RESULT)}`
}
const plus = (name: string, more: number): string => `(i32.add (local.get $${name}) (i32.const ${more}))`
/** An entry of the errors at 8192. */
const entry = (ordinal: string | number, code: number, length: number): string =>
  [ordinal, code, length].map((value, index) => `(i32.store (i32.const ${8192 + 4 * index}) ${i32(value)})`).join(' ')
const LIES: [string, Lie, string?][] = [
  ['out-at-minus-one', { ptr: -1 }],
  ['out-at-end', { ptr: 67_108_863 }],
  ['out-is-the-block', { ptr: RESULT, length: 36, count: 1 }],
  ['out-length-minus-one', { length: -1 }],
  ['out-length-one-less', { length: plus('len', -1) }],
  ['out-length-one-more', { length: plus('len', 1) }],
  ['out-length-67m', { length: 67_000_000 }],
  ['out-length-zero', { length: 0 }],
  ['out-count-zero', { count: 0 }],
  ['out-count-one-less', { count: plus('count', -1) }],
  ['out-count-one-more', { count: plus('count', 1) }],
  ['out-count-minus-one', { count: -1 }],
  ['out-count-is-length', { count: plus('len', 0) }],
  ['out-million-of-zeros', { ptr: 1_048_576, length: 1_048_000, count: 1_048_000 }, '(drop (memory.grow (i32.const 40)))'],
  ['errors-at-minus-one', { errPtr: -1, errLength: 12, errCount: 1 }],
  ['errors-length-minus-one', { errPtr: 8192, errLength: -1, errCount: 1 }],
  ['errors-count-minus-one', { errPtr: 8192, errLength: 12, errCount: -1 }],
  ['errors-one-too-many', { errPtr: 8192, errLength: 12_000, errCount: plus('count', 1) }],
  ['errors-cut-off', { errPtr: 8192, errLength: 11, errCount: 1 }],
  ['errors-ordinal-too-large', { errPtr: 8192, errLength: 12, errCount: 1 }, entry('(local.get $count)', 1, 0)],
  ['errors-ordinal-minus-one', { errPtr: 8192, errLength: 12, errCount: 1 }, entry(-1, 1, 0)],
  ['errors-text-minus-one', { errPtr: 8192, errLength: 12, errCount: 1 }, entry(0, 1, -1)],
  ['errors-code-minus-one', { errPtr: 8192, errLength: 12, errCount: 1 }, entry(0, -1, 0)],
  ['errors-for-a-kept-record', { errPtr: 8192, errLength: 16, errCount: 1 }, entry(0, 1, 4)],
  [
    'errors-with-controls',
    { errPtr: 8192, errLength: 20, errCount: 1 },
    `${entry(0, 10, 8)} (i64.store (i32.const 8204) (i64.const 0x0afe5b1b4a00ff32))`,
  ],
  ['state-everywhere', { statePtr: -1, stateLength: -1, stateCount: -1 }],
]
const lies = LIES.map(([name, fields, before = '']): Row => [
  `lie-${name}`,
  `a result block that lies (${name})`,
  { process: `${before} ${lie(fields)}` },
])

const conditions = conditional('hang', 'does not return', HANG).concat(conditional('trap', 'traps', '(unreachable)'))
const rows = [endless, conditions, slow, rowsOf(OTHER), traps, addresses, lies].flat()
const padding = (name: string): Uint8Array => (name === 'padded' ? Buffer.alloc(3_000_000, Buffer.from([0, 1, 0])) : Buffer.alloc(0))

export const RUNNING: readonly Hostile[] = rows.map(([name, why, parts]) => ({
  name,
  why,
  binary: () => Uint8Array.from(Buffer.concat([toBinary(batchOf(parts)), padding(name)])),
  expect: 'runs',
}))
