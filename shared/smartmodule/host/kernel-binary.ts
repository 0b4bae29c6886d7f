/** The host's kernel, compiled once and cached. Apart from what uses it: a lane gets it compiled. */
import { join } from 'node:path'
import { compileCached } from '../compile-cache.ts'

/** The kernel's binary; compiled by the caller into a `WebAssembly.Module` that lanes share. */
export async function kernelBinary(cacheFolder: string): Promise<Uint8Array<ArrayBuffer>> {
  return compileCached(join(import.meta.dirname, 'kernel', 'kernel.ts'), 'kernel', cacheFolder)
}
