/** Instances of plug-ins, which are made here and not by a library: their host's functions are bound directly, and may be WebAssembly's. */
import type { HostFunctions } from '../../call-seed.ts'

/** Not yet in TypeScript's library: https://github.com/WebAssembly/js-promise-integration */
const { Suspending, promising: promisingExport } = WebAssembly as unknown as {
  Suspending: new (call: unknown) => WebAssembly.ImportValue
  promising(call: unknown): () => Promise<unknown>
}

/** A function to import, which suspends the call that it is called in until its promise is settled. */
export const suspending = <T extends number | bigint, Values extends T[]>(
  call: (...values: Values) => Promise<T>,
): WebAssembly.ImportValue => new Suspending(call)
/** An export whose call may be suspended. */
export const promising = (call: unknown): (() => Promise<unknown>) => promisingExport(call)

/** An instance with the functions that it imports. Throws what WebAssembly throws, also by its start function. */
export async function instantiatePlugIn(module: WebAssembly.Module, functions: HostFunctions): Promise<WebAssembly.Instance> {
  const imports: Record<string, Record<string, WebAssembly.ImportValue>> = {}
  for (const { module: namespace, name } of WebAssembly.Module.imports(module)) {
    const found = functions[namespace]?.[name]
    if (found === undefined) throw new Error(`imports ${namespace}.${name}, which this kind of module can't`)
    ;(imports[namespace] ??= {})[name] = found
  }
  return WebAssembly.instantiate(module, imports)
}

/** Calls the functions by which the plug-in's language starts, where it has them: WASI's or C's, then Haskell's. */
export function initialise({ exports }: WebAssembly.Instance): void {
  const first = exports._initialize ?? exports.__wasm_call_ctors
  for (const found of [first, exports.hs_init]) if (typeof found === 'function') (found as (...args: number[]) => void)(0, 0)
}
