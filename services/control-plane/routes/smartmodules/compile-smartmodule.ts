/** Compiles sources of SmartModules, in a workshop: a source may make the compiler run or grow without end. */
import { compileSmartModuleContract } from '../../../../shared/api/smartmodules.ts'
import { invalidRequest } from '../../service-error.ts'
import { openLruCache } from '../../caches/lru-cache.ts'
import { sha256Of } from '../../store/smartmodules.ts'
import type { Workshop } from '../../workshop/workshop.ts'
import { operation } from '../operation.ts'

/**
 * The compiler's limits. It takes a second or two for a module, and five on a slow machine: where that is busy too, a source that comes
 * last would never get the rest of its time.
 */
const DEADLINES = { cpuMs: 16_000, lastFromMs: 8000, wallMs: 45_000 }
const PATH = '/source/code'
/** Of the line that an answer shows. */
const LINE_CHARACTERS_MAX = 200

/** `parameters`: the JSON Schema that the source's class Settings stands for. */
type Compiled =
  | { binary: Uint8Array; parameters?: Record<string, unknown> | undefined }
  | { details: { path: typeof PATH; message: string; line?: number; column?: number; text?: string }[] }

/** By the source's hash: a manifest's sources are compiled for its plan, and deployed after it. At most 16 MiB. */
const kept = openLruCache<string, Extract<Compiled, { binary: Uint8Array }>>(64)
const KEPT_BYTES_MAX = 256 << 10

async function compile(workshop: Workshop, accountId: string, code: string): Promise<Compiled> {
  const key = sha256Of(code)
  const known = kept.get(key)
  if (known) return known
  const compiled = await compileAnew(workshop, accountId, code)
  if ('binary' in compiled && compiled.binary.length <= KEPT_BYTES_MAX) kept.set(key, compiled)
  return compiled
}

async function compileAnew(workshop: Workshop, accountId: string, code: string): Promise<Compiled> {
  const answer = await workshop.run(accountId, { kind: 'compile', code }, DEADLINES)
  if ('compiled' in answer) return { binary: answer.binary, parameters: answer.compiled.parameters }
  if ('uncompiled' in answer) {
    const lines = code.split(/\r?\n/)
    // The last line of all may be the one behind the source's end.
    const textOf = (line: number | undefined) => (line === undefined ? undefined : lines[line - 1]?.slice(0, LINE_CHARACTERS_MAX))
    return { details: answer.uncompiled.map((fault) => ({ path: PATH, ...fault, text: textOf(fault.line) })) }
  }
  // Most often it takes all memory or time for types that never end; the compiler has no place for that.
  const hint = 'does a generic class or function use itself with ever larger types?'
  return {
    details: [{ path: PATH, message: `could not be compiled: ${'refused' in answer ? `${answer.refused}; ${hint}` : 'no answer'}` }],
  }
}

/**
 * The binary of a source, and the JSON Schema of its settings if it has any. Throws 400 with line and column of every fault; pointers begin
 * with `at`.
 */
export async function compiled(workshop: Workshop, accountId: string, code: string, at: string) {
  const result = await compile(workshop, accountId, code)
  if ('details' in result) throw invalidRequest(result.details.map((fault) => ({ ...fault, path: `${at}${fault.path}` })))
  return { binary: Buffer.from(result.binary), parameters: result.parameters }
}

export const compileSmartModuleOperation = operation(compileSmartModuleContract, async ({ workshop }, { accountId }, { body }) => {
  const result = await compile(workshop, accountId, body.source.code)
  if ('details' in result) return { status: 200, body: { ok: false, details: result.details } }
  const { binary, parameters } = result
  const about = { bytes: binary.length, sha256: sha256Of(binary), ...(parameters ? { parameters } : {}) }
  return { status: 200, body: { ok: true, details: [], ...about } }
})
