/** SmartModule ABI 1 from the host's side: exports, the init document, limits, error codes. No I/O. */
import { FRAMING_BYTES } from '../model/framing.ts'

/** Exports of a `batch` module, the native kind; the export `dps_abi_1` identifies it. */
export type BatchExports = {
  memory: WebAssembly.Memory
  dps_alloc(length: number): number
  /** Room for what the step before has written about the members of the next batch's records; optional. */
  dps_members?(length: number): number
  dps_init(ptr: number, length: number): number
  dps_process(
    ptr: number,
    length: number,
    count: number,
    partition: number,
    baseOffset: bigint,
    baseTimestamp: bigint,
    maxTimestamp: bigint,
    attributes: number,
  ): number
}

/** The JSON document that `dps_init` receives. `output_prefix` is base64, `input_prefix_length` in bytes, `step` counts from 0. */
export type InitDocument = {
  config: unknown
  input_format: string
  output_format: string
  input_prefix_length: number
  output_prefix: string
  pipeline: string
  step: number
  partition: number
  /** Hosts that an Extism plug-in may send requests to. */
  allowed_hosts?: string[]
  /** Whether the next step reads where its records' members are (`dps_members`). */
  writes_members?: boolean
}

/** A step of a chain as its SmartModule is told at start; only the first step gets frames, only the last one writes them. */
export function initDocumentOf(
  { config, input_format, output_format, allowed_hosts }: Pick<InitDocument, 'config' | 'input_format' | 'output_format' | 'allowed_hosts'>,
  at: { pipeline: string; step: number; isFirst: boolean; output_prefix: string },
): InitDocument {
  const { pipeline, step, isFirst, output_prefix } = at
  const input_prefix_length = isFirst ? FRAMING_BYTES : 0
  const document = { config, input_format, output_format, input_prefix_length, output_prefix, pipeline, step, partition: 0 }
  return allowed_hosts ? { ...document, allowed_hosts } : document
}

/** Limits of ABI 1 (docs/limits.md). Memory is in WebAssembly pages of 64 KiB. */
export const SMARTMODULE_LIMITS = {
  file_bytes_max: 10 << 20,
  memory_pages_max: 1024,
  /** Elements of one table; a module may have 16 tables. */
  table_elements_max: 100_000,
  call_bytes_max: 256 << 10,
  call_timeout_ms: 5000,
  output_bytes_per_input: 16,
  output_bytes_extra: 1 << 20,
} as const

/** A fault of a SmartModule itself, not an error that it reported for a record; its instance is lost. `step` counts from 0. */
export class SmartModuleTrap extends Error {
  readonly step: number
  constructor(step: number, message: string) {
    super(message)
    this.name = 'SmartModuleTrap'
    this.step = step
  }
}

/** Codes in a guest's error entries that the SDK and the built-ins use, with their names; all others are the author's. */
const RECORD_ERRORS = { 1: 'record_failed', 2: 'invalid_json', 3: 'not_framed', 10: 'field_missing' } as const

/** The name of a record's error code, as shown in dead letters. */
export function recordErrorName(code: number): string {
  return code in RECORD_ERRORS ? RECORD_ERRORS[code as keyof typeof RECORD_ERRORS] : `module_error_${code}`
}
