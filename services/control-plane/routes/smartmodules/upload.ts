/** What an account sends as a SmartModule, a source or a binary: compiled, and inspected, in a workshop. */
import { isSpace } from '../../../../shared/model/json-text.ts'
import type { ExtismFunction, SmartModuleKind } from '../../../../shared/model/smartmodule-kind.ts'
import { SMARTMODULE_LIMITS } from '../../../../shared/smartmodule/abi.ts'
import { invalidRequest } from '../../service-error.ts'
import { turns } from '../../../../shared/model/turns.ts'
import { sha256Of, type SmartModuleSource } from '../../store/smartmodules.ts'
import type { Workshop } from '../../workshop/workshop.ts'
import { compiled } from './compile-smartmodule.ts'

/** Time limits of the inspection. */
const DEADLINES = { cpuMs: 2000, wallMs: 10_000 }

/** Exactly one of the two is given. */
export type Upload = { source: SmartModuleSource | null; wasm_binary: string | undefined }
/**
 * A SmartModule that may be stored and run. `binary` has the limits of memory and tables in it; `parameters` is the JSON Schema that came
 * with it, or that of a source's settings.
 */
export type Inspected = {
  parameters: Record<string, unknown> | undefined
  kind: SmartModuleKind
  extismFunction: ExtismFunction | undefined
  binary: Uint8Array
  sha256: string
}

const BLANK = /[\r\n\t ]/
/** Characters of another base64, which Node takes for `+` and `/`. */
const OF_URLS = ['-', '_']

/** Base64 in one line with its padding: `base64` breaks its lines, and other tools leave the padding out. */
function inOneLine(text: string): string {
  if (text.length % 4 === 0 && !BLANK.test(text)) return text
  // Byte by byte: replacing in a text of 16 MiB can take seconds.
  const bytes = Buffer.from(text)
  let length = 0
  for (let at = 0; at < bytes.length; at++) if (!isSpace(bytes[at])) bytes[length++] = bytes[at]!
  return bytes.toString('latin1', 0, length).padEnd(Math.ceil(length / 4) * 4, '=')
}

/** Decoded in a step: whole groups of four characters. */
const GROUPS_AT_ONCE = 16 << 10

async function decodeBinary(text: string, at: string): Promise<Buffer> {
  const refused = (message: string) => invalidRequest([{ path: `${at}/wasm_binary`, message }])
  const line = inOneLine(text)
  if (OF_URLS.some((character) => line.includes(character))) throw refused('is not base64')
  const binary = Buffer.allocUnsafeSlow(Math.ceil(line.length / 4) * 3)
  let length = 0
  await turns(Math.ceil(line.length / 4 / GROUPS_AT_ONCE), (index) => {
    // Node skips characters that are not base64, and stops at a padding: then there are fewer bytes than of whole groups.
    if (length < 3 * index * GROUPS_AT_ONCE) throw refused('is not base64')
    length += binary.write(line.slice(4 * index * GROUPS_AT_ONCE, 4 * (index + 1) * GROUPS_AT_ONCE), length, 'base64')
  })
  // The last group may be padded: it is whole only if encoding it again gives the same.
  const last = Math.max(0, line.length - 4)
  if (binary.toString('base64', (last / 4) * 3, length) !== line.slice(last)) throw refused('is not base64')
  if (length > SMARTMODULE_LIMITS.file_bytes_max) throw refused(`is larger than ${SMARTMODULE_LIMITS.file_bytes_max >> 20} MiB`)
  return binary.subarray(0, length)
}

/**
 * Throws 400 with what is wrong; pointers begin with `at`. `given`: the JSON Schema that comes with it; `before`: the one that it has where
 * neither the request nor its source says one.
 */
export async function inspectUpload(
  workshop: Workshop,
  accountId: string,
  { source, wasm_binary = '' }: Upload,
  { given, before }: { given?: Record<string, unknown> | undefined; before?: Record<string, unknown> | undefined },
  at = '',
): Promise<Inspected> {
  const { binary: upload, parameters: own } = source
    ? await compiled(workshop, accountId, source.code, at)
    : { binary: await decodeBinary(wasm_binary, at), parameters: undefined }
  const parameters = given ?? own ?? before
  const answer = await workshop.run(accountId, { kind: 'inspect', binaries: [async () => upload], parameters }, DEADLINES)
  if ('parameters' in answer)
    throw invalidRequest([{ path: `${at}/config/parameters`, message: `is not a JSON Schema: ${answer.parameters}` }])
  if (!('inspected' in answer))
    throw invalidRequest([
      { path: `${at}/${source ? 'source/code' : 'wasm_binary'}`, message: 'refused' in answer ? answer.refused : 'could not be examined' },
    ])
  const { inspected, binary } = answer
  return { kind: inspected.kind, extismFunction: inspected.extismFunction, binary, sha256: sha256Of(binary), parameters }
}
