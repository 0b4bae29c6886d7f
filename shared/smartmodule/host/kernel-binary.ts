/** The binary of the host's kernel, compiled once and cached. Separate from `kernel.ts`, because lanes receive it compiled. */
import { join } from 'node:path'
import { compileCached } from '../compile-cache.ts'

/** The kernel's binary; the caller compiles it into a `WebAssembly.Module` that lanes share. */
export async function kernelBinary(cacheFolder: string): Promise<Uint8Array<ArrayBuffer>> {
  return compileCached(join(import.meta.dirname, 'kernel', 'kernel.ts'), 'kernel', cacheFolder)
}
