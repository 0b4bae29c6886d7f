/** The host functions that a SmartModule may import; an upload that imports anything else is refused. */
import type { ExtismPluginOptions } from '@extism/extism'
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
  ['env', new Set(ASSEMBLYSCRIPT)],
  ['dps', new Set(MEASURES)],
  [EXTISM_NAMESPACE, new Set(EXTISM)],
  ['wasi_snapshot_preview1', new Set(WASI)],
])

/** Whether a SmartModule may import the function. */
export const allowedImport = (module: string, name: string): boolean => ALLOWED.get(module)?.has(name) ?? false
/** Whether the namespace is Extism's, which is for Extism plug-ins only. */
export const isExtismImport = (module: string): boolean => module === EXTISM_NAMESPACE

/** Where a SmartModule's lines and numbers go. */
export type Telemetry = { log(level: LogLevel, line: string): void; measure(kind: Measure['kind'], name: string, value: number): void }

/** The current call as the host functions see it; clock and random numbers derive from it, so that a replay gives the same. */
export type CallSeed = {
  timestampMs: number
  offset: bigint
  telemetry: Telemetry
  memory: () => WebAssembly.Memory | undefined
  /** What the call has allocated through Extism so far. */
  blocks: number
  blockBytes: number
}

/** The seed of an instance's calls, before the first one; `memoryOf` is set once the instance has a memory. */
export function newCallSeed(telemetry: Telemetry): CallSeed & { memoryOf?: WebAssembly.Memory } {
  const call: CallSeed & { memoryOf?: WebAssembly.Memory } = {
    timestampMs: 0,
    offset: 0n,
    telemetry,
    memory: () => call.memoryOf,
    blocks: 0,
    blockBytes: 0,
  }
  return call
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

type HostFunctions = NonNullable<ExtismPluginOptions['functions']>

/** Thrown by a host function to end the call: the module asked for it, or for more than it may have. Its instance is lost. */
export class CallEnded extends Error {}

/** Blocks outside of a plug-in's memory that it allocates in one call. */
const BLOCK_BYTES_MAX = 64 << 20
const BLOCKS_MAX = 100_000
/** Variables that a plug-in keeps between calls. */
const VARIABLES_MAX = 1000
const VARIABLE_BYTES_MAX = 1 << 20

/** What Extism 1.0.3 gives its host functions of the call at hand. */
type ExtismCall = {
  alloc(size: bigint): bigint
  read(address: bigint): { bytes(): Uint8Array; string(): string } | null
  store(value: Uint8Array): bigint
}

/** Of Extism's levels: 0 is trace, 2 is info. */
const LOG_LEVEL_INFO = 2

/** Extism's own functions that have no bound, with one. Its variables point into blocks that the next call reuses: these are copies. */
function boundedExtism(call: CallSeed): HostFunctions[string] {
  const variables = new Map<string, Uint8Array>()
  const bytes = () => [...variables].reduce((sum, [name, value]) => sum + name.length + value.length, 0)
  const count = (size: number): void => {
    call.blocks++
    call.blockBytes += size
    if (call.blocks > BLOCKS_MAX || call.blockBytes > BLOCK_BYTES_MAX)
      throw new CallEnded(`allocates more than ${BLOCK_BYTES_MAX >> 20} MiB or ${BLOCKS_MAX} blocks in one call`)
  }
  return {
    alloc: (extism: ExtismCall, size: bigint) => {
      count(Number(size))
      return extism.alloc(size)
    },
    // Extism 1.0.3 lacks these two, which newer PDKs import.
    get_log_level: () => LOG_LEVEL_INFO,
    log_trace: () => {},
    var_get: (extism: ExtismCall, address: bigint) => {
      const value = variables.get(extism.read(address)?.string() ?? '')
      if (!value) return 0n
      count(value.length)
      // A block of its own: what the plug-in does with it does not change the variable.
      return extism.store(new Uint8Array(value))
    },
    var_set: (extism: ExtismCall, address: bigint, valueAddress: bigint) => {
      const name = extism.read(address)?.string()
      if (name === undefined) return
      const value = valueAddress === 0n ? undefined : extism.read(valueAddress)?.bytes()
      if (value) variables.set(name, new Uint8Array(value))
      else variables.delete(name)
      if (variables.size > VARIABLES_MAX || bytes() > VARIABLE_BYTES_MAX)
        throw new CallEnded(`keeps more than ${VARIABLES_MAX} variables or ${VARIABLE_BYTES_MAX >> 20} MiB of them`)
    },
  }
}

/** Reads an AssemblyScript string (UTF-16; its byte length is in the 4 bytes before it); empty when it is invalid. */
function assemblyScriptText(memory: WebAssembly.Memory | undefined, pointer: number): string {
  if (!memory || pointer < 4 || pointer > memory.buffer.byteLength) return ''
  const length = new DataView(memory.buffer).getUint32(pointer - 4, true)
  if (length > 65_536 || pointer + length > memory.buffer.byteLength) return ''
  return Buffer.from(memory.buffer, pointer, length).toString('utf16le')
}

const NAME_BYTES_MAX = 256

/** Reads the name of a measure; what is none becomes a warning in the log, because a wrong name is no reason to lose a record. */
function measureName(call: CallSeed, pointer: number, length: number): string | undefined {
  const memory = call.memory()
  const at = pointer >>> 0
  const size = Math.min(length >>> 0, NAME_BYTES_MAX)
  const name = memory && at + size <= memory.buffer.byteLength ? Buffer.from(memory.buffer, at, size).toString('utf8') : ''
  if (MEASURE_NAME.test(name) && !name.startsWith(OWN_MEASURES)) return name
  call.telemetry.log(
    'warn',
    `a measure's name must match ${MEASURE_NAME.source} and not begin with ${OWN_MEASURES}: ${JSON.stringify(name)}`,
  )
  return undefined
}

/** WASI preview 1: `clockid`. */
const CLOCK_MONOTONIC = 1
const STEADY_STEP = 1_000_000n
const ERRNO_BADF = 8
const ERRNO_NOSYS = 52

/** The functions for Extism's `functions` option. They read `call` on each use, so its fields may change from batch to batch. */
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
  let steady = 0n
  let steadyFor = -1n
  /** Nanoseconds that grow within a call, and are never 0, where Go's runtime ends. They begin anew with each record, as in a replay. */
  const steadyTime = () => {
    if (steadyFor !== call.offset) steady = BigInt(Math.max(0, call.timestampMs)) * 1_000_000n
    steadyFor = call.offset
    return (steady += STEADY_STEP)
  }
  const view = () => {
    const memory = call.memory()
    if (!memory) throw new Error('the module called the host before it had a memory')
    return new DataView(memory.buffer)
  }
  const measure =
    (kind: Measure['kind']) =>
    (_context: unknown, pointer: number, length: number, value: number): void => {
      const name = measureName(call, pointer, length)
      if (name === undefined) return
      if (Number.isFinite(value) && (kind === 'observe' || value >= 0)) call.telemetry.measure(kind, name, value)
      else call.telemetry.log('warn', `${value} can't be added to ${name}`)
    }
  const consoles = Object.entries(CONSOLES).map(([name, level]) => [
    name,
    (_context: unknown, pointer: number) => call.telemetry.log(level, assemblyScriptText(call.memory(), pointer)),
  ])
  const zero = () => 0
  const badFile = () => ERRNO_BADF
  const writeTwoZeros = (_context: unknown, first: number, second: number) => {
    view().setUint32(first, 0, true)
    view().setUint32(second, 0, true)
    return 0
  }
  return {
    [EXTISM_NAMESPACE]: boundedExtism(call),
    env: {
      abort: (_context: unknown, message: number, file: number, line: number, column: number) => {
        const text = assemblyScriptText(call.memory(), message) || 'abort'
        throw new Error(`${text} (${assemblyScriptText(call.memory(), file)}:${line}:${column})`)
      },
      seed: () => draw() / 4_294_967_296 + 1,
      'Date.now': () => call.timestampMs,
      ...Object.fromEntries(consoles),
    },
    dps: { count: measure('count'), observe: measure('observe') },
    wasi_snapshot_preview1: {
      args_get: zero,
      args_sizes_get: writeTwoZeros,
      environ_get: zero,
      environ_sizes_get: writeTwoZeros,
      clock_res_get: (_context: unknown, _clock: number, target: number) => {
        view().setBigUint64(target, 1_000_000n, true)
        return 0
      },
      clock_time_get: (_context: unknown, clock: number, _precision: bigint, target: number) => {
        view().setBigUint64(target, clock === CLOCK_MONOTONIC ? steadyTime() : BigInt(call.timestampMs) * 1_000_000n, true)
        return 0
      },
      random_get: (_context: unknown, pointer: number, length: number) => {
        const target = view()
        for (let i = 0; i < length; i++) target.setUint8(pointer + i, draw() & 255)
        return 0
      },
      fd_write: (_context: unknown, _fd: number, vectors: number, count: number, written: number) => {
        const memory = view()
        let total = 0
        for (let i = 0; i < count; i++) {
          const pointer = memory.getUint32(vectors + i * 8, true)
          const length = memory.getUint32(vectors + i * 8 + 4, true)
          if (length > 0 && total < 65_536)
            call.telemetry.log('info', Buffer.from(memory.buffer, pointer, Math.min(length, 65_536)).toString('utf8').trimEnd())
          total += length
        }
        memory.setUint32(written, total, true)
        return 0
      },
      fd_read: badFile,
      fd_close: badFile,
      fd_seek: badFile,
      fd_fdstat_get: (_context: unknown, fd: number, target: number) => {
        if (fd > 2) return ERRNO_BADF
        const memory = view()
        for (let i = 0; i < 24; i++) memory.setUint8(target + i, 0)
        // A character device, as standard streams are.
        memory.setUint8(target, 2)
        return 0
      },
      fd_fdstat_set_flags: badFile,
      fd_prestat_get: badFile,
      fd_prestat_dir_name: badFile,
      proc_exit: (_context: unknown, code: number) => {
        throw new CallEnded(`the module called proc_exit(${code})`)
      },
      sched_yield: zero,
      poll_oneoff: () => ERRNO_NOSYS,
    },
  }
}
