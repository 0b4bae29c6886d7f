/**
 * The memory that an Extism plug-in shares with its host: blocks at 64-bit addresses, counted from the region's start. A plug-in has its
 * own instance of the kernel for this, and calls these functions itself, without JavaScript in between. All blocks are freed at once,
 * before the next call; an address outside of them traps.
 */
import { roomFor } from './bytes'

/** In front of each block: a mark that it is one, and its length. */
const HEAD: u64 = 16
const MARK: u64 = 0x6b636f6c62737064
let regionPtr: usize = 0
let regionCapacity: u64 = 0
/** Address 0 stands for no block. */
let used: u64 = HEAD

let inputAt: u64 = 0
let inputSize: u64 = 0
let outputAt: u64 = 0
let outputSize: u64 = 0
let errorAt: u64 = 0

/** Gives back all blocks. */
export function blocksReset(): void {
  used = HEAD
  inputAt = inputSize = outputAt = outputSize = errorAt = 0
}

/** A new block; the caller bounds its length. */
export function blockAlloc(length: u64): u64 {
  const at = used + HEAD
  const end = at + ((length + 15) & ~15)
  if (end > regionCapacity) {
    const capacity = roomFor(end as u32)
    const moved = heap.alloc(capacity)
    memory.copy(moved, regionPtr, used as usize)
    if (regionPtr != 0) heap.free(regionPtr)
    regionPtr = moved
    regionCapacity = capacity
  }
  store<u64>(regionPtr + (used as usize), MARK)
  store<u64>(regionPtr + (used as usize), length, 8)
  used = end
  return at
}

/** Traps unless [at, at + length) is in the region. */
// @ts-ignore: decorator
@inline
function pointer(at: u64, length: u64): usize {
  if (at > used || length > used - at) unreachable()
  return regionPtr + (at as usize)
}

/** The length of the block that starts at `at`; 0 when none does. */
export function blockLength(at: u64): u64 {
  if (at < HEAD + HEAD || at > used) return 0
  const head = regionPtr + ((at - HEAD) as usize)
  const length = load<u64>(head, 8)
  // A plug-in may have written over it.
  return load<u64>(head) == MARK && length <= used - at ? length : 0
}

/** Blocks are given back together. */
export function blockFree(_at: u64): void {}

export function blockLoad8(at: u64): u32 { return load<u8>(pointer(at, 1)) }
export function blockLoad64(at: u64): u64 { return load<u64>(pointer(at, 8)) }
export function blockStore8(at: u64, value: u32): void { store<u8>(pointer(at, 1), value as u8) }
export function blockStore64(at: u64, value: u64): void { store<u64>(pointer(at, 8), value) }

/** Makes a block the call's input, and returns where the host writes it. */
export function inputOpen(length: u32): usize {
  inputSize = length as u64
  inputAt = blockAlloc(inputSize)
  return regionPtr + (inputAt as usize)
}
export function inputOffset(): u64 { return inputAt }
export function inputLength(): u64 { return inputSize }
export function inputLoad8(at: u64): u32 { return load<u8>(inputPointer(at, 1)) }
export function inputLoad64(at: u64): u64 { return load<u64>(inputPointer(at, 8)) }

// @ts-ignore: decorator
@inline
function inputPointer(at: u64, length: u64): usize {
  if (at > inputSize || length > inputSize - at) unreachable()
  return regionPtr + ((inputAt + at) as usize)
}

export function outputSet(at: u64, length: u64): void {
  pointer(at, length)
  outputAt = at
  outputSize = length
}
export function errorSet(at: u64): void { errorAt = at }

/** For the host: the memory's address of a block, and what the call has set. */
export function blockPointer(at: u64): usize { return pointer(at, 0) }
export function outputPointer(): usize { return regionPtr + (outputAt as usize) }
export function outputLength(): u32 { return outputSize as u32 }
export function errorBlock(): u64 { return errorAt }
