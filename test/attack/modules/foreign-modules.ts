/** Hostile modules of the kinds of Redpanda and Fluvio: they start honestly, and misbehave once records come. */
import { rowsOf, toBinary, type Hostile } from './module-builder.ts'

const POINTERS = [0, 8, 12, 16, 20, 24, 32, 40, 48, 52].map((at) => `(i32.const ${at})`).join(' ')
/**
 * A data transform that asks for batch after batch and reads their records; `record` is done with each, at 4096 and `$size` long, and
 * `pointers` say where a batch's header goes.
 */
const transform = (record: string, batch = '', more = '', pointers = POINTERS): string => `(module
  (import "redpanda_transform" "check_abi_version_2" (func $check))
  (import "redpanda_transform" "read_batch_header" (func $header (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)))
  (import "redpanda_transform" "read_next_record" (func $next (param i32 i32 i32 i32 i32) (result i32)))
  (import "redpanda_transform" "write_record" (func $write (param i32 i32) (result i32)))
  (import "redpanda_transform" "write_record_with_options" (func $write_to (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $print (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 8 1024)
  ${more}
  (func $ask (result i32) (call $header ${pointers}))
  (func (export "_start") (local $size i32) (local $i i32)
    (call $check)
    (loop $batches
      (drop (call $ask)) ${batch}
      (local.set $i (i32.const 0))
      (block $done
        (loop $records
          (br_if $done (i32.ge_u (local.get $i) (i32.load (i32.const 8))))
          (local.set $size (call $next (i32.const 60) (i32.const 64) (i32.const 72) (i32.const 4096) (i32.const 400000)))
          ${record}
          (local.set $i (i32.add (local.get $i) (i32.const 1)))
          (br $records)))
      (br $batches))))`
const KEEP = '(drop (call $write (i32.const 4096) (local.get $size)))'

const TRANSFORMS = `
loop | an endless loop in the middle of a batch
  record: (loop $l (br $l))
loop-of-writes | writes the record without end
  record: (loop $l ${KEEP} (br $l))
loop-of-reads | asks for records without end
  record: (loop $l (drop (call $next (i32.const 60) (i32.const 64) (i32.const 72) (i32.const 4096) (i32.const 400000))) (br $l))
exit | ends by itself after a record
  record: ${KEEP} (return)
trap | a trap at every record
  record: (unreachable)
no-records | asks for the next batch, and never for a record
  batch: (br $batches)
reads-outside | has records written outside of its memory
  record: (drop (call $next (i32.const -1) (i32.const -8) (i32.const -8) (i32.const -4) (i32.const -1)))
header-outside | has the batch written outside of its memory
  pointers: ${'(i32.const -1) '.repeat(10)}
writes-outside | writes a record of 4 GiB from outside of its memory
  record: (drop (call $write (i32.const -1) (i32.const -1))) ${KEEP}
writes-garbage | writes what is no record
  record: (memory.fill (i32.const 100000) (i32.const 255) (i32.const 1000)) (drop (call $write (i32.const 100000) (i32.const 1000))) ${KEEP}
writes-elsewhere | writes to a topic of its own
  more: (data (i32.const 200) "\\01\\10elsewhere")
  record: (drop (call $write_to (i32.const 4096) (local.get $size) (i32.const 200) (i32.const 10)))
options-outside | options outside of its memory
  record: (drop (call $write_to (i32.const 4096) (local.get $size) (i32.const -1) (i32.const -1))) ${KEEP}
memory | grows to its maximum, and fills it
  record: (drop (memory.grow (i32.const 1016))) (memory.fill (i32.const 100000) (i32.const 1) (i32.const 60000000)) ${KEEP}
log | prints a line of 16 MiB for each record
  record: (drop (memory.grow (i32.const 512))) (i32.store (i32.const 300) (i32.const 4096)) (i32.store (i32.const 304) (i32.const 16777216))
    (drop (call $print (i32.const 2) (i32.const 300) (i32.const 1) (i32.const 308))) ${KEEP}
recursion | a recursion without end on its own stack
  more: (func $deep (call $deep) (drop (call $ask)))
  record: (call $deep)
asks-within | asks for a batch in the middle of another
  record: (drop (call $ask)) ${KEEP}`

/** A Fluvio filter; `body` leaves its status, the input is at `$at`. */
const fluvio = (body: string, alloc = '(i32.const 65536)'): string => `(module
  (import "env" "copy_records" (func $copy (param i32 i32)))
  (memory (export "memory") 64 1024)
  (global $x (mut i64) (i64.const 1))
  (func (export "alloc") (param i32) (result i32) ${alloc})
  (func (export "dealloc") (param i32 i32))
  (func (export "filter") (param $at i32) (param $len i32) (param i32) (result i32) ${body}))`
const answer = (bytes: number): string => `(call $copy (i32.const 1024) (i32.const ${bytes})) (i32.const 0)`

const FLUVIOS = `
loop | an endless loop
  body: (loop $l (br $l)) (unreachable)
trap | a trap
  body: (unreachable)
status | a status that is not known
  body: (i32.const -2147483648)
alloc-minus-one | memory outside of its memory
  alloc: (i32.const -1)
  body: (i32.const 0)
alloc-loop | an endless loop while it gives memory
  alloc: (loop $l (br $l)) (unreachable)
  body: (i32.const 0)
answer-outside | an answer outside of its memory
  body: (call $copy (i32.const -1) (i32.const 100)) (i32.const 0)
answers | copies answers without end
  body: (loop $l (call $copy (i32.const 0) (i32.const 4194304)) (br $l)) (unreachable)
answer-empty | an answer of no bytes
  body: ${answer(0)}
answer-garbage | an answer of ones
  body: (memory.fill (i32.const 1024) (i32.const 255) (i32.const 4000)) ${answer(4000)}
answer-many | four billion records that are not there
  body: (i32.store (i32.const 1024) (i32.const -1)) ${answer(8)}
answer-zeros | as many records as bytes, all zero
  body: (i32.store (i32.const 1024) (i32.const 0x00000f00)) ${answer(4000)}
answer-fail-again | an error for a record that is not its own
  body: (i64.store (i32.const 1024) (i64.const 0x0000000100000000)) ${answer(40)}
memory | grows to its maximum
  body: (drop (memory.grow (i32.const 960))) (i32.const 0)`

/** They fit their kinds, so that their upload is accepted. */
export const FOREIGN: readonly Hostile[] = [
  ...rowsOf(TRANSFORMS).map(([name, why, { record, batch, more, pointers }]): Hostile => ({
    name: `redpanda-${name}`,
    why: `a data transform: ${why}`,
    binary: () => toBinary(transform(record ?? KEEP, batch, more, pointers)),
    expect: 'runs',
  })),
  ...rowsOf(FLUVIOS).map(([name, why, { body = '(i32.const 0)', alloc }]): Hostile => ({
    name: `fluvio-${name}`,
    why: `a Fluvio module: ${why}`,
    binary: () => toBinary(fluvio(body, alloc)),
    expect: 'runs',
  })),
]
