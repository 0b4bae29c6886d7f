/** The host functions that a SmartModule may import; an upload that imports anything else is refused. */
import type { SmartModuleKind } from '../model/smartmodule-kind.ts'
import type { CallSeed, HostFunctions } from './call-seed.ts'
import { wasiFunctions } from './wasi.ts'
import { MEASURE_NAME, OWN_MEASURES, type LogLevel, type Measure } from '../model/telemetry.ts'

const EXTISM = [
  'alloc',
  'free',
  'length',
  'length_unsafe',
  'load_u8',
  'load_u64',
  'store_u8',
  'store_u64',
  'input_offset',
  'input_length',
  'input_load_u8',
  'input_load_u64',
  'output_set',
  'error_set',
  'config_get',
  'var_get',
  'var_set',
  'get_log_level',
  'log_trace',
  'log_debug',
  'log_info',
  'log_warn',
  'log_error',
  'http_request',
  'http_status_code',
  'http_headers',
]
/** AssemblyScript's consoles, and the level of each one's lines. */
const CONSOLES = {
  'console.log': 'info',
  'console.debug': 'debug',
  'console.info': 'info',
  'console.warn': 'warn',
  'console.error': 'error',
} as const satisfies Record<string, LogLevel>
const ASSEMBLYSCRIPT = ['abort', 'seed', 'Date.now', ...Object.keys(CONSOLES)]
/** Fluvio's: takes a module's answer. */
const FLUVIO = ['copy_records']
const REDPANDA = [
  'check_abi_version_1',
  'check_abi_version_2',
  'read_batch_header',
  'read_next_record',
  'write_record',
  'write_record_with_options',
]
/** Of Redpanda's schema registry, which answers that it is not there. */
const REDPANDA_REGISTRY = [
  'check_abi_version_0',
  'get_schema_definition_len',
  'get_schema_definition',
  'get_subject_schema_len',
  'get_subject_schema',
  'create_subject_schema',
]
/** This service's own: numbers for the pipeline's metrics. */
const MEASURES = ['count', 'observe'] as const
/** WASI preview 1 without files and sockets. */
const WASI = [
  'args_get',
  'args_sizes_get',
  'environ_get',
  'environ_sizes_get',
  'clock_time_get',
  'clock_res_get',
  'random_get',
  'fd_write',
  'fd_read',
  'fd_close',
  'fd_seek',
  'fd_fdstat_get',
  'fd_fdstat_set_flags',
  'fd_prestat_get',
  'fd_prestat_dir_name',
  'proc_exit',
  'sched_yield',
  'poll_oneoff',
]

const EXTISM_NAMESPACE = 'extism:host/env'
const ALLOWED: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ['env', new Set([...ASSEMBLYSCRIPT, ...FLUVIO])],
  ['redpanda_transform', new Set(REDPANDA)],
  ['redpanda_schema_registry', new Set(REDPANDA_REGISTRY)],
  ['dps', new Set(MEASURES)],
  [EXTISM_NAMESPACE, new Set(EXTISM)],
  ['wasi_snapshot_preview1', new Set(WASI)],
])

/** Whether a SmartModule may import the function. */
export const allowedImport = (module: string, name: string): boolean => ALLOWED.get(module)?.has(name) ?? false
/** The kind of modules that an import is for alone; undefined for one that all may have. */
export function kindOfImport(module: string, name: string): SmartModuleKind | undefined {
  if (module === EXTISM_NAMESPACE) return 'extism'
  if (module.startsWith('redpanda_')) return 'redpanda'
  return module === 'env' && FLUVIO.includes(name) ? 'fluvio' : undefined
}

/** A deterministic 32-bit random generator (xorshift, seeded by the offset). */
function nextRandom(seed: { value: number }): number {
  let x = seed.value || 0x9e3779b9
  x ^= x << 13
  x ^= x >>> 17
  x ^= x << 5
  seed.value = x >>> 0
  return seed.value
}

/** Reads an AssemblyScript string (UTF-16; its byte length is in the 4 bytes before it); empty when it is invalid. */
function assemblyScriptText(memory: WebAssembly.Memory | undefined, pointer: number): string {
  if (!memory || pointer < 4 || pointer > memory.buffer.byteLength) return ''
  const length = new DataView(memory.buffer).getUint32(pointer - 4, true)
  if (length > 65_536 || pointer + length > memory.buffer.byteLength) return ''
  return Buffer.from(memory.buffer, pointer, length).toString('utf16le')
}

const NAME_BYTES_MAX = 256
/** What is wrong with a measure is wrong with each record: so many different warnings an instance writes, and each once. */
const WARNINGS_MAX = 20

/** Reads the name of a measure; what is none becomes a warning in the log, because a wrong name is no reason to lose a record. */
function measureName(call: CallSeed, pointer: number, length: number, warn: (line: string) => void): string | undefined {
  const memory = call.memory()
  const at = pointer >>> 0
  const size = Math.min(length >>> 0, NAME_BYTES_MAX)
  const name = memory && at + size <= memory.buffer.byteLength ? Buffer.from(memory.buffer, at, size).toString('utf8') : ''
  if (MEASURE_NAME.test(name) && !name.startsWith(OWN_MEASURES)) return name
  warn(`a measure's name must match ${MEASURE_NAME.source} and not begin with ${OWN_MEASURES}: ${JSON.stringify(name)}`)
  return undefined
}

/** What a module may import beside its own kind's functions. They read `call` on each use, so its fields may change from batch to batch. */
export function hostFunctions(call: CallSeed): HostFunctions {
  const random = { value: 0 }
  let seededFor = -1n
  const draw = () => {
    if (seededFor !== call.offset) {
      seededFor = call.offset
      random.value = Number(BigInt.asUintN(32, call.offset * 2_654_435_761n + 1n))
    }
    return nextRandom(random)
  }
  const warned = new Set<string>()
  const warn = (line: string): void => {
    if (warned.size >= WARNINGS_MAX || warned.has(line)) return
    warned.add(line)
    call.telemetry.log('warn', line)
  }
  const measure =
    (kind: Measure['kind']) =>
    (pointer: number, length: number, value: number): void => {
      const name = measureName(call, pointer, length, warn)
      if (name === undefined) return
      if (Number.isFinite(value) && (kind === 'observe' || value >= 0)) call.telemetry.measure(kind, name, value)
      else warn(`${value} can't be added to ${name}`)
    }
  const consoles = Object.entries(CONSOLES).map(([name, level]) => [
    name,
    (pointer: number) => call.telemetry.log(level, assemblyScriptText(call.memory(), pointer)),
  ])
  return {
    env: {
      abort: (message: number, file: number, line: number, column: number) => {
        const text = assemblyScriptText(call.memory(), message) || 'abort'
        const name = assemblyScriptText(call.memory(), file)
        // A line of the library is none that the author can look at.
        const library = /^~lib\/(dps\/)?(.*?)(?:\.ts)?$/.exec(name)
        throw new Error(
          `${text} (${library ? `in ${library[1] ? 'the SDK' : `AssemblyScript's ${library[2]}`}` : `${name}:${line}:${column}`})`,
        )
      },
      seed: () => draw() / 4_294_967_296 + 1,
      'Date.now': () => call.timestampMs,
      ...Object.fromEntries(consoles),
    },
    dps: { count: measure('count'), observe: measure('observe') },
    wasi_snapshot_preview1: wasiFunctions(call, draw),
  }
}
