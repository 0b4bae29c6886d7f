/** SmartModule ABI 1 as the host sees it: kinds, exports, the init document, limits. No I/O. */

/** Exports of the native kind; `dps_abi_1` marks it. */
export type BatchExports = {
  memory: WebAssembly.Memory
  dps_alloc(length: number): number
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

export const BATCH_EXPORTS = ['memory', 'dps_alloc', 'dps_init', 'dps_process'] as const

/** The JSON document that `dps_init` gets. `output_prefix` is base64. */
export type InitDocument = {
  config: unknown
  input_format: string
  output_format: string
  input_prefix_length: number
  output_prefix: string
  pipeline: string
  step: number
  partition: number
}

/** Limits of ABI 1 (docs: limits). Memory in WebAssembly pages of 64 KiB. */
export const SMARTMODULE_LIMITS = {
  file_bytes_max: 10 << 20,
  memory_pages_max: 1024,
  call_bytes_max: 4 << 20,
  call_timeout_ms: 5000,
  compile_timeout_ms: 20_000,
  output_bytes_per_input: 16,
  output_bytes_extra: 1 << 20,
} as const

/** What a SmartModule did wrong, as against what it reported for a record: its instance is lost. */
export class SmartModuleTrap extends Error {
  readonly step: number
  constructor(step: number, message: string) {
    super(message)
    this.name = 'SmartModuleTrap'
    this.step = step
  }
}

/** Numbers a guest writes into error entries that the built-in SDK uses; others are the author's. */
export const RECORD_ERRORS = { 1: 'record_failed', 2: 'invalid_json', 3: 'not_framed', 10: 'field_missing' } as const

/** Name of a record's error code, as dead letters show it. */
export function recordErrorName(code: number): string {
  return code in RECORD_ERRORS ? RECORD_ERRORS[code as keyof typeof RECORD_ERRORS] : `module_error_${code}`
}
