/** Wrong exports of a batch module: its calls would fail, or answer what the host takes for another thing. */
export const WRONG_EXPORTS = `
process-takes-nothing | dps_process without parameters
  dps_process: (func (export "dps_process") (result i32) (i32.const 64))
process-takes-i32-offset | an i32 base offset: every call throws a TypeError
  dps_process: (func (export "dps_process") (param i32 i32 i32 i32 i32 i64 i64 i32) (result i32) (i32.const 64))
process-takes-nine | a ninth parameter
  dps_process: (func (export "dps_process") (param i32 i32 i32 i32 i64 i64 i64 i32 i64) (result i32) (i32.const 64))
process-takes-externref | a parameter that is a reference
  dps_process: (func (export "dps_process") (param externref i32 i32 i32 i64 i64 i64 i32) (result i32) (i32.const 64))
alloc-takes-i64 | dps_alloc takes an i64
  dps_alloc: (func (export "dps_alloc") (param i64) (result i32) (i32.const 65536))
alloc-takes-nothing | dps_alloc without a length
  dps_alloc: (func (export "dps_alloc") (result i32) (i32.const 65536))
alloc-is-a-global | dps_alloc is a global
  dps_alloc: (global (export "dps_alloc") i32 (i32.const 65536))
abi-is-a-function | the marker is a function
  dps_abi_1: (func (export "dps_abi_1") (result i32) (i32.const 1))
abi-is-the-memory | the marker is the memory
  dps_abi_1: (export "dps_abi_1" (memory 0))
abi-is-i64 | the marker is an i64
  dps_abi_1: (global (export "dps_abi_1") i64 (i64.const 1))
abi-is-externref | the marker is a reference
  dps_abi_1: (global (export "dps_abi_1") externref (ref.null extern))
members-takes-i64 | dps_members takes an i64
  more: (func (export "dps_members") (param i64) (result i32) (i32.const 65536))
no-abi | neither kind of module
  dps_abi_1:
no-process | dps_process is missing
  dps_process:
no-alloc | dps_alloc is missing
  dps_alloc:
no-init | dps_init is missing
  dps_init:
memory-not-exported | the memory is not exported
  memory_export: (memory 4 1024)
memory-is-a-function | the export "memory" is a function
  memory_export: (memory 4 1024) (func (export "memory"))
initialize-is-a-global | _initialize is a global
  more: (global (export "_initialize") i32 (i32.const 1))`
