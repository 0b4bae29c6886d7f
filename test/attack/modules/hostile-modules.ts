/** All hostile modules: those that a strict service refuses, those whose calls misbehave, and, here, those whose output does; plug-ins. */
import { batchOf, each, extism, rowsOf, TEXT, toBinary, type Hostile, type Row } from './module-builder.ts'
import { FOREIGN } from './foreign-modules.ts'
import { REFUSED } from './refused-modules.ts'
import { RUNNING } from './running-modules.ts'

export { toBinary } from './module-builder.ts'

const NULL = '(call $put (i64.const -1))'
const NONE = '(call $put (i64.const 0))'
const bytesOf = (length: string, byte: number): string =>
  `(call $put (i64.extend_i32_s ${length})) (call $fill (i32.const ${byte}) ${length})`
const textOf = (text: string | Uint8Array): string => {
  const length = Buffer.byteLength(text)
  return `(call $put (i64.const ${length})) (call $copy (i32.const ${TEXT}) (i32.const ${length}))`
}
type Fields = { delta?: string; time?: string; key?: string; value?: string; headers?: string; after?: string }
/** Writes one record; by default `{}` at the place and time of the one at hand. */
const record = ({
  delta = '(local.get $delta)',
  time = '(local.get $when)',
  key = NULL,
  value,
  headers = NONE,
  after = '',
}: Fields): string =>
  `(call $open ${delta} ${time}) ${key} ${value ?? '(call $put (i64.const 2)) (call $byte (i64.const 123)) (call $byte (i64.const 125))'}
  ${headers} (call $close) ${after}`
const each1 = (name: string, why: string, fields: Fields): Row => [name, why, { process: each(record(fields)) }]

const i64 = (value: bigint | number): string => `(i64.const ${value})`
const NUMBERS = {
  deltas: [
    ['negative', '(i64.const -1)'],
    ['beyond-the-batch', i64(2_147_483_647)],
    ['of-40-bits', i64(2n ** 40n)],
    ['of-the-next-record', '(i64.add (local.get $delta) (i64.const 1))'],
    ['all-of-the-first', '(i64.const 0)'],
    ['falling', '(i64.extend_i32_s (i32.sub (i32.sub (local.get $count) (local.get $i)) (i32.const 1)))'],
  ],
  times: [
    ['latest', i64(2n ** 63n - 1n)],
    ['earliest', i64(-(2n ** 63n))],
    ['before-1970', '(i64.sub (i64.const -1) (local.get $time))'],
    ['no-date', i64(8_640_000_000_000_001n)],
    ['year-30000', i64(900_000_000_000_000n)],
    ['overflowing', '(i64.sub (i64.const 9223372036854775807) (i64.const 1000))'],
    ['falling', '(i64.sub (i64.const 0) (i64.mul (local.get $delta) (i64.const 86400000)))'],
  ],
} as const

const length = (value: number): Fields => ({ after: `(call $length ${i64(value)})` })
const FORMS: [string, string, Fields][] = [
  ['length-zero', 'a record of no bytes', length(0)],
  ['length-minus-one', 'a record of a negative length', length(-1)],
  ['length-2-31', 'a record of 2 GiB', length(2 ** 31 - 1)],
  ['length-one-less', 'a record cut by one byte', { after: '(global.set $out (i32.sub (global.get $out) (i32.const 1)))' }],
  ['length-one-more', 'a byte between records', { after: '(call $byte (i64.const 0))' }],
  ['attributes-255', 'attributes of all ones', { after: '(i32.store8 offset=5 (global.get $start) (i32.const 255))' }],
  ['key-minus-two', 'a key of length -2', { key: '(call $put (i64.const -2))' }],
  ['key-2-31', 'a key of 2 GiB', { key: `(call $put ${i64(2 ** 31 - 1)})` }],
  ['value-minus-two', 'a value of length -2', { value: '(call $put (i64.const -2))' }],
  ['value-2-31', 'a value of 2 GiB', { value: `(call $put ${i64(2 ** 31 - 1)})` }],
  ['headers-minus-one', 'minus one headers', { headers: '(call $put (i64.const -1))' }],
  ['headers-2-31', 'two billion headers that are not there', { headers: `(call $put ${i64(2 ** 31 - 1)})` }],
  ['header-name-null', 'a header without a name', { headers: `(call $put (i64.const 1)) ${NULL} ${NULL}` }],
  ['header-value-minus-two', 'a header value of length -2', { headers: `(call $put (i64.const 1)) ${NONE} (call $put (i64.const -2))` }],
  ['varint-of-ten-bytes', 'an endless varint', { headers: `(call $fill (i32.const 255) (i32.const 10)) ${NONE}` }],
]

const FRAME = '\0\0\0\0\u0001'
const VALUES: [string, string, string | Uint8Array][] = [
  ['empty', 'an empty value', ''],
  ['one-byte', 'a value of one byte', '\0'],
  ['unframed', 'JSON without the registry prefix', '{"a":1}'],
  ['unknown-schema', 'the prefix of a schema that is not', Buffer.concat([Buffer.from([0, 255, 255, 255, 255]), Buffer.from('{}')])],
  ['frame-alone', 'a prefix and nothing behind it', FRAME],
  ['not-json', 'text that is not JSON', `${FRAME}hello`],
  ['half-json', 'JSON that breaks off', `${FRAME}{"a":`],
  ['two-documents', 'two documents', `${FRAME}{}{}`],
  ['not-a-number', 'NaN, as JavaScript writes it', `${FRAME}{"a":NaN}`],
  ['not-utf8', 'bytes that are not UTF-8', Buffer.concat([Buffer.from(FRAME), Buffer.from([0x22, 0xff, 0xfe, 0xc0, 0x22])])],
  ['lone-surrogate', 'an escaped half of a character', `${FRAME}{"a":"\\ud800"}`],
  ['byte-order-mark', 'a byte order mark', `${FRAME}\ufeff{}`],
  ['prototype', 'members named like those of every object', `${FRAME}{"__proto__":{"x":1},"constructor":{"prototype":{"y":1}}}`],
  ['member-twice', 'a member twice', `${FRAME}{"a":1,"a":2}`],
  ['large-numbers', 'numbers that no double holds', `${FRAME}{"a":1e999999,"b":123456789012345678901234567890}`],
  ['markup', 'markup and a formula', `${FRAME}{"a":"<script>alert(1)</script>","b":"=HYPERLINK(1)"}`],
]

/** For each header: its name's length and byte, its value. */
const headers = (
  count: number,
  nameLength: number,
  value: string,
): string => `(call $put (i64.const ${count})) (local.set $stop (i32.const ${count}))
  (loop $h ${bytesOf(`(i32.const ${nameLength})`, 104)} ${value}
    (br_if $h (local.tee $stop (i32.sub (local.get $stop) (i32.const 1)))))`
const named = (text: string): Fields => ({ headers: `(call $put (i64.const 1)) ${textOf(text)} ${NULL}` })
const HEADERS: [string, string, Fields, string?][] = [
  ['one-of-8kb', 'a header of 8 KB', { headers: headers(1, 4000, bytesOf('(i32.const 4000)', 118)) }],
  ['a-thousand', 'a thousand headers each', { headers: headers(1000, 1, NULL) }],
  ['forged', 'a header that says where a dead letter came from', named('dps.source_topic'), 'dps.source_topic'],
  ['forged-origin', 'a header that names an offset', named('dps.source_offset'), 'dps.source_offset'],
  ['controls', 'a name with line breaks', named('a\r\nSet-Cookie: x'), 'a\r\nSet-Cookie: x'],
]

/** The bytes that one record may become, so that all together stay just below the limit of a call; and what all may. */
const SHARE = '(i32.sub (i32.div_u (global.get $room) (local.get $count)) (i32.const 64))'
const ALL = '(i32.sub (global.get $room) (i32.const 64))'
const LEFT = '(i32.sub (local.get $stop) (global.get $out))'
/** Writes units of at most `unit` bytes, `size` bytes together. */
const units = (size: string, unit: number, body: string): string => `(local.set $stop (i32.add (global.get $out) ${size}))
  (block $full (loop $unit (br_if $full (i32.lt_s ${LEFT} (i32.const ${unit}))) ${body} (br $unit)))`
const once = (body: string): string => `(if (i32.eqz (local.get $i)) (then ${body}))`
const big = (byte: number): string => bytesOf(SHARE, byte)
const KIB = bytesOf('(i32.const 1000)', 49)
const skip = (bytes: number): string => `(global.set $out (i32.add (global.get $out) (i32.const ${bytes})))`
const COUNTER = `(call $put (i64.const 8)) (i64.store (global.get $out) (i64.extend_i32_u (global.get $n))) ${skip(8)}`
const ROUND = `(i32.and ${SHARE} (i32.const -8))`
const RANDOM = `(call $put (i64.extend_i32_s ${ROUND})) (local.set $stop (i32.add (global.get $out) ${ROUND}))
  (loop $r (call $spin (i64.const 1)) (i64.store (global.get $out) (global.get $x)) ${skip(8)} (br_if $r (i32.gt_s ${LEFT} (i32.const 0))))`
/** As many headers without name and value as there is room for. */
const EMPTY_HEADERS = `(local.set $stop (i32.shr_u ${SHARE} (i32.const 1))) (call $put (i64.extend_i32_s (local.get $stop)))
  (loop $h (i32.store16 (global.get $out) (i32.const 0x0100)) ${skip(2)}
    (br_if $h (i32.gt_s (local.tee $stop (i32.sub (local.get $stop) (i32.const 1))) (i32.const 0))))`
const ONE_HEADER = `(call $put (i64.const 1)) ${bytesOf('(i32.const 1)', 104)} ${big(118)}`
const SPREAD = record({ key: COUNTER, value: bytesOf('(i32.const 100000)', 49) })
const BOMBS: [string, string, string][] = [
  ['one-value', 'each record becomes one value of its whole share', record({ value: big(32) })],
  ['random-value', 'the same of bytes that no codec compresses', record({ value: RANDOM })],
  ['nested', 'a value that is nested as deep as it is long', record({ value: big(91) })],
  ['one-key', 'a key of the whole share', record({ key: bytesOf(SHARE, 107) })],
  ['one-header', 'a header of the whole share', record({ headers: ONE_HEADER })],
  ['empty-headers', 'as many empty headers as fit: each becomes an object when decoded', record({ headers: EMPTY_HEADERS })],
  ['tombstones', 'as many tombstones of a few bytes as fit', units(SHARE, 24, record({ value: NULL }))],
  ['tiny', 'as many small documents as fit', units(SHARE, 28, record({}))],
  ['keys', 'small documents, each with a new key', units(SHARE, 40, record({ key: COUNTER }))],
  ['kilobytes', 'values of 1 KB, all from the first record', once(units(ALL, 1100, record({ value: KIB })))],
  ['spread', 'values of 100 KB with keys for every partition of the sink', once(units(ALL, 100_100, SPREAD))],
  ['first-takes-all', 'the first record becomes one value of all that is allowed', once(record({ value: bytesOf(ALL, 32) }))],
  ['above-the-limit', 'a kilobyte above the limit of a call', once(record({ value: bytesOf(`(i32.add ${ALL} (i32.const 1088))`, 32) }))],
]

/** Errors for all records, each of 1 KiB or of its share: `$out` collects them, and the result block names them. */
const errors = (
  size: string,
): string => `${each(`(i32.store (global.get $out) (local.get $i)) (i32.store offset=4 (global.get $out) (i32.const 7))
  (i32.store offset=8 (global.get $out) ${size}) (global.set $out (i32.add (global.get $out) (i32.const 12)))
  (call $fill (i32.const 255) ${size}) (global.set $n (i32.add (global.get $n) (i32.const 1)))`)} (drop)
  (drop (call $result (i32.const 0) (i32.const 0) (i32.const 0))) (i32.store (i32.const 76) (global.get $first))
  (i32.store (i32.const 80) (i32.sub (global.get $out) (global.get $first))) (i32.store (i32.const 84) (global.get $n)) (i32.const 64)`

const OUTPUTS: Row[] = [
  ...NUMBERS.deltas.map(([name, delta]) => each1(`delta-${name}`, `offset deltas that are wrong (${name})`, { delta })),
  ...NUMBERS.times.map(([name, time]) => each1(`time-${name}`, `timestamps that are out of range (${name})`, { time })),
  ...FORMS.map(([name, why, fields]) => each1(`form-${name}`, why, fields)),
  ...VALUES.map(([name, why, text]): Row => [
    `value-${name}`,
    why,
    { process: each(record({ value: textOf(text) })), text: Buffer.from(text).toString('latin1') },
  ]),
  ['value-null', 'every value becomes null', { process: each(record({ value: NULL })) }],
  ...HEADERS.map(([name, why, fields, text = '']): Row => [`headers-${name}`, why, { process: each(record(fields)), text }]),
  ...BOMBS.map(([name, why, body]): Row => [`bomb-${name}`, `output bomb: ${why}`, { process: each(body) }]),
  ['errors-of-1-kib', 'every record fails, with 1 KiB of bytes that are not UTF-8', { process: errors('(i32.const 1024)') }],
  ['errors-of-the-share', 'every record fails, with as much text as fits', { process: errors(SHARE) }],
]

const GIB = '(i64.const 1073741824)'
/** Writes `,0,0,0,0` over a block at `$a` of `length` bytes, which becomes a JSON array of that many half bytes. */
const zeros = (size: number): string => `(local.set $a (call $host_alloc (i64.const ${size + 1})))
  (loop $l (call $host_store_u64 (i64.add (local.get $a) (local.get $i)) (i64.const 0x302c302c302c302c))
    (br_if $l (i64.lt_u (local.tee $i (i64.add (local.get $i) (i64.const 8))) (i64.const ${size}))))
  (call $host_store_u8 (local.get $a) (i32.const 91)) (call $host_store_u8 (i64.add (local.get $a) (i64.const ${size})) (i32.const 93))
  (call $host_output_set (local.get $a) (i64.const ${size + 1})) (i32.const 0)`
const output = (size: string): string =>
  `(local.set $a (call $host_alloc ${size})) (call $host_output_set (local.get $a) ${size}) (i32.const 0)`
const SPIN = (
  ms: number,
): string => `(loop $l (global.set $x (i64.add (i64.mul (global.get $x) (i64.const 6364136223846793005)) (i64.const 1)))
  (br_if $l (i64.lt_u (local.tee $i (i64.add (local.get $i) (i64.const 1))) (i64.const ${ms * 720_000}))))`
const KEEP = `(call $host_output_set (call $host_input_offset) (call $host_input_length)) (i32.const 0)`
/** A new block at `$a` whose first eight bytes are the number. */
const key = (size: number, value: string): string =>
  `(local.set $a (call $host_alloc (i64.const ${size}))) (call $host_store_u64 (local.get $a) ${value})`

const PLUG_INS = `
loop | an endless loop
  map: (loop $l (br $l)) (unreachable)
loop-in-host | an endless loop of host calls
  filter: (loop $l (drop (call $host_input_length)) (br $l)) (unreachable)
trap | a trap
  map: (unreachable)
trap-later | a trap from the hundredth record on
  map: (if (i64.gt_u (global.get $calls) (i64.const 100)) (then (unreachable))) ${KEEP}
recursion | a recursion without end, which is a RangeError and not a trap for the host
  map: (call $deep) ${KEEP}
  more: (func $deep (call $deep) (global.set $x (i64.const 2)))
memory | grows to its maximum
  map: (drop (memory.grow (i32.const 1023))) (memory.fill (i32.const 0) (i32.const 1) (i32.const 67108864)) ${KEEP}
blocks-of-1-gib | blocks of 1 GiB
  map: (loop $l (drop (call $host_alloc ${GIB})) (br $l)) (unreachable)
blocks-of-1-mib | blocks of 1 MiB
  map: (loop $l (drop (call $host_alloc (i64.const 1048576))) (br $l)) (unreachable)
blocks-of-1-byte | blocks of one byte
  filter: (loop $l (drop (call $host_alloc (i64.const 1))) (br $l)) (unreachable)
block-each-record | one block of 1 GiB for each record, and the record itself
  map: (drop (call $host_alloc ${GIB})) ${KEEP}
block-of-minus-one | a block of 2^64 - 1 bytes
  map: (drop (call $host_alloc (i64.const -1))) ${KEEP}
output-of-1-mib | each record becomes 1 MiB
  map: ${output('(i64.const 1048576)')}
output-of-1-gib | each record becomes 1 GiB
  map: ${output(GIB)}
output-filter-of-1-gib | a filter whose answer has 1 GiB
  filter: ${output(GIB)}
output-array-of-1-gib | an array of 1 GiB that is not JSON
  array_map: ${output(GIB)}
array-of-8m | an array of eight million elements, each of which becomes an object before any limit is checked
  array_map: ${zeros(16_777_216)}
array-of-500k | an array of half a million elements for each record
  array_map: ${zeros(1_048_576)}
array-nested | an array nested as deep as it is long
  array_map: (local.set $a (call $host_alloc (i64.const 1048576)))
    (loop $l (call $host_store_u64 (i64.add (local.get $a) (local.get $i)) (i64.const 0x5b5b5b5b5b5b5b5b))
      (br_if $l (i64.lt_u (local.tee $i (i64.add (local.get $i) (i64.const 8))) (i64.const 1048576))))
    (call $host_output_set (local.get $a) (i64.const 1048576)) (i32.const 0)
no-output | no output, although it is a map
  map: (i32.const 0)
failed-silently | says by its result that it failed, and sets no error
  map: (i32.const 1)
error-of-256-mib | an error text of 256 MiB
  map: (call $host_error_set (call $host_alloc (i64.const 268435456))) (i32.const 1)
error-of-no-block | an error at an address of no block
  map: (call $host_error_set (i64.const -1)) (i32.const 1)
variables | variables with new names of 1 MiB in every call: no reset removes them
  map: ${key(1_048_576, '(global.get $calls)')} (call $host_var_set (local.get $a) (local.get $a)) ${KEEP}
variables-loop | variables with new names without end
  map: (loop $l ${key(65_536, '(local.tee $i (i64.add (local.get $i) (i64.const 1)))')} (call $host_var_set (local.get $a) (local.get $a))
    (call $host_free (local.get $a)) (br $l)) (unreachable)
config-prototype | asks for the setting toString, which every object has
  map: ${key(8, '(i64.const 0x676e697274536f74)')} (drop (call $host_config_get (local.get $a))) ${KEEP}
log-flood | log lines of 1 MiB without end
  map: (local.set $a (call $host_alloc (i64.const 1048576))) (loop $l (call $host_log_info (local.get $a)) (br $l)) (unreachable)
log-each-record | a log line of 16 MiB for each record
  map: (call $host_log_info (call $host_alloc (i64.const 16777216))) ${KEEP}
log-of-no-block | log lines from no block
  map: (call $host_log_info (i64.const -1)) ${KEEP}
free-input | frees its input and answers with it
  map: (local.set $a (call $host_input_offset)) (call $host_free (local.get $a))
    (call $host_output_set (local.get $a) (i64.const 1)) (i32.const 0)
free-output | frees its output
  map: (local.set $a (call $host_alloc (i64.const 8))) (call $host_output_set (local.get $a) (i64.const 8))
    (call $host_free (local.get $a)) (i32.const 0)
output-of-no-block | an output at an address of no block
  map: (call $host_output_set (i64.const -1) (i64.const 1)) (i32.const 0)
output-longer-than-block | an output longer than its block
  map: (call $host_output_set (call $host_alloc (i64.const 8)) (i64.const 9)) (i32.const 0)
store-outside | writes behind a block
  map: (call $host_store_u64 (i64.add (call $host_alloc (i64.const 8)) (i64.const 4294967296)) (i64.const -1)) ${KEEP}
load-outside | reads from no block
  map: (drop (call $host_load_u8 (i64.const -1))) ${KEEP}
slow-20ms | 20 ms a record, each of which counts as progress
  map: ${SPIN(20)} ${KEEP}
slow-200ms | 200 ms a record
  map: ${SPIN(200)} ${KEEP}
slow-2s | two seconds a record, below the deadline of a call on a machine half as fast too
  map: ${SPIN(2000)} ${KEEP}
input-of-no-call | asks for its input in the start function, where there is none
  map: ${KEEP}
  more: (start $go) (func $go (drop (call $host_input_offset)))
output-of-no-call | sets an output in the start function, where there is no call
  map: ${KEEP}
  more: (start $go) (func $go (call $host_output_set (i64.const 0) (i64.const 1)))`
const plugIns = rowsOf(PLUG_INS).map(([name, why, { more = '', ...called }]): Hostile => {
  const [exported, body] = Object.entries(called)[0]!
  return { name: `extism-${name}`, why: `a plug-in: ${why}`, binary: () => toBinary(extism(exported, body, more)), expect: 'runs' }
})

/** Modules that a stricter service would refuse, and that run here: bounded instead, or harmless because calls are contained. */
const BOUNDED: ReadonlySet<string> = new Set(['extended-constant', 'table-10m-maximum', 'table-maximum-2-32', 'data-90k-segments'])

/** All of them; names are unique. */
export const HOSTILE: readonly Hostile[] = [
  ...REFUSED.map(({ reason, ...each }): Hostile => (BOUNDED.has(each.name) ? { ...each, expect: 'runs' } : { ...each, reason })),
  ...RUNNING,
  ...OUTPUTS.map(([name, why, parts]): Hostile => ({ name, why, binary: () => toBinary(batchOf(parts)), expect: 'runs' })),
  ...plugIns,
  ...FOREIGN,
]
