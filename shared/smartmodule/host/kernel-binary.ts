/** The binary of the host's kernel, compiled once and cached. Separate from `kernel.ts`, because lanes receive it compiled. */
import { join } from 'node:path'
import { compileCached } from '../compile-cache.ts'

/** By cache folder: which file is the right one is found by hashing all sources, and they do not change while a process runs. */
const binaries = new Map<string, Promise<Uint8Array<ArrayBuffer>>>()

/** The kernel's binary; the caller compiles it into a `WebAssembly.Module` that lanes share. */
export function kernelBinary(cacheFolder: string): Promise<Uint8Array<ArrayBuffer>> {
  const known = binaries.get(cacheFolder)
  if (known) return known
  const found = compileCached(join(import.meta.dirname, 'kernel', 'kernel.ts'), 'kernel', cacheFolder)
  binaries.set(cacheFolder, found)
  found.catch(() => binaries.delete(cacheFolder))
  return found
}
