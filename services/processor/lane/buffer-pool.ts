/**
 * Reuses large buffers: fresh ones cost page faults, and V8 collects garbage by the bytes they hold (a quarter of all CPU time at
 * full speed, measured by `node --cpu-prof`). Small ones are not worth keeping.
 */
export type BufferPool = {
  /** A buffer of at least `bytes`; its content is arbitrary. */
  take(bytes: number): ArrayBuffer
  /** Gives back buffers that are no longer read or written. */
  give(buffers: readonly ArrayBuffer[]): void
}

const POOLED_BYTES_MIN = 256 << 10
const STEP_BYTES = 1 << 20
/** A pooled buffer may be up to this many times the requested size. */
const WASTE_MAX = 4

export function createBufferPool(bytesMax: number): BufferPool {
  const free: ArrayBuffer[] = []
  let held = 0
  return {
    take(bytes) {
      if (bytes >= POOLED_BYTES_MIN) {
        const at = free.findIndex(({ byteLength }) => byteLength >= bytes && byteLength <= bytes * WASTE_MAX)
        if (at >= 0) {
          const [found] = free.splice(at, 1) as [ArrayBuffer]
          held -= found.byteLength
          return found
        }
        // Rounded up, so that buffers of nearly the same size are interchangeable.
        return Buffer.allocUnsafeSlow(Math.ceil(bytes / STEP_BYTES) * STEP_BYTES).buffer as ArrayBuffer
      }
      return Buffer.allocUnsafeSlow(bytes).buffer as ArrayBuffer
    },
    give(buffers) {
      for (const buffer of buffers) {
        // A detached buffer has length 0.
        if (buffer.byteLength < POOLED_BYTES_MIN || held + buffer.byteLength > bytesMax) continue
        free.push(buffer)
        held += buffer.byteLength
      }
    },
  }
}
