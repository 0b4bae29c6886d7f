/**
 * What an Extism plug-in imports of `extism:host/env`. Loading and storing bytes are functions of a kernel instance that the plug-in calls
 * without JavaScript in between, because a plug-in calls them for every byte or eight; the rest is here.
 */
import type { LogLevel } from '../../../model/telemetry.ts'
import { CallEnded, type CallSeed, type HostFunctions } from '../../call-seed.ts'
import type { SendRequest } from '../../../model/plug-in-http.ts'
import { openKernel } from '../kernel.ts'
import { openExtismHttp } from './extism-http.ts'

/** Blocks outside of a plug-in's memory that it allocates in one call. */
const BLOCK_BYTES_MAX = 64 << 20
const BLOCKS_MAX = 100_000
/** Variables that a plug-in keeps between calls. */
const VARIABLES_MAX = 1000
const VARIABLE_BYTES_MAX = 1 << 20
/** Of Extism's levels: 0 is trace, 2 is info. */
const LOG_LEVEL_INFO = 2
const LOG_BYTES_MAX = 65_536
const ERROR_BYTES_MAX = 4096

/** The exports of `host/kernel/blocks.ts`. */
type Blocks = {
  memory: WebAssembly.Memory
  blocksReset(): void
  blockAlloc(length: bigint): bigint
  blockLength(at: bigint): bigint
  blockPointer(at: bigint): number
  inputOpen(length: number): number
  outputPointer(): number
  outputLength(): number
  errorBlock(): bigint
} & Record<'blockFree' | 'blockLoad8' | 'blockLoad64' | 'blockStore8' | 'blockStore64', WebAssembly.ExportValue> &
  Record<'inputOffset' | 'inputLength' | 'inputLoad8' | 'inputLoad64' | 'outputSet' | 'errorSet', WebAssembly.ExportValue>

/** The memory between a plug-in and its host. */
export type ExtismEnv = {
  functions: HostFunctions[string]
  /** Gives back all blocks, and makes these bytes the next call's input. */
  begin(input: Uint8Array): void
  /** A copy of what the call has set as its output; undefined when that is nothing. */
  output(bytesMax: number): Buffer | undefined
  /** The start of the text that the call has set as its error; undefined when that is nothing. */
  error(): string | undefined
  memoryBytes(): number
}

/** What a plug-in is given: its config, the hosts that it may send requests to, and who sends them. */
export type ExtismGiven = { config: Record<string, string>; allowedHosts: readonly string[]; send: SendRequest | undefined }

/** `kernel` is compiled from `host/kernel`. */
export async function openExtismEnv(kernel: WebAssembly.Module, given: ExtismGiven, call: CallSeed): Promise<ExtismEnv> {
  const blocks = (await openKernel(kernel)) as unknown as Blocks
  const variables = new Map<string, Buffer>()
  let blockCount = 0
  let blockBytes = 0
  const alloc = (size: bigint): bigint => {
    const length = BigInt.asUintN(64, size)
    blockCount++
    blockBytes += Number(length)
    if (blockCount > BLOCKS_MAX || blockBytes > BLOCK_BYTES_MAX)
      throw new CallEnded(`allocates more than ${BLOCK_BYTES_MAX >> 20} MiB or ${BLOCKS_MAX} blocks in one call`)
    return blocks.blockAlloc(length)
  }
  const at = (pointer: number, length: number) => Buffer.from(blocks.memory.buffer, pointer >>> 0, length)
  const read = (block: bigint): Buffer | undefined => {
    const length = Number(blocks.blockLength(block))
    return block === 0n ? undefined : at(blocks.blockPointer(block), length)
  }
  const give = (bytes: Uint8Array | undefined): bigint => {
    if (bytes === undefined) return 0n
    const block = alloc(BigInt(bytes.length))
    at(blocks.blockPointer(block), bytes.length).set(bytes)
    return block
  }
  const log = (level: LogLevel) => (block: bigint) =>
    call.telemetry.log(level, read(block)?.subarray(0, LOG_BYTES_MAX).toString('utf8') ?? '')
  const http = openExtismHttp({ read, give }, given.allowedHosts, given.send, call.telemetry)
  const texts = new Map(Object.entries(given.config).map(([name, text]) => [name, Buffer.from(text)]))
  return {
    functions: {
      alloc,
      free: blocks.blockFree,
      length: blocks.blockLength,
      length_unsafe: blocks.blockLength,
      load_u8: blocks.blockLoad8,
      load_u64: blocks.blockLoad64,
      store_u8: blocks.blockStore8,
      store_u64: blocks.blockStore64,
      input_offset: blocks.inputOffset,
      input_length: blocks.inputLength,
      input_load_u8: blocks.inputLoad8,
      input_load_u64: blocks.inputLoad64,
      output_set: blocks.outputSet,
      error_set: blocks.errorSet,
      config_get: (name: bigint) => give(texts.get(read(name)?.toString('utf8') ?? '')),
      var_get: (name: bigint) => give(variables.get(read(name)?.toString('utf8') ?? '')),
      var_set: (name: bigint, value: bigint) => {
        const key = read(name)?.toString('utf8')
        if (key === undefined) return
        const bytes = read(value)
        // A copy: the block belongs to the next call.
        if (bytes) variables.set(key, Buffer.from(bytes))
        else variables.delete(key)
        const size = [...variables].reduce((sum, [each, { length }]) => sum + each.length + length, 0)
        if (variables.size > VARIABLES_MAX || size > VARIABLE_BYTES_MAX)
          throw new CallEnded(`keeps more than ${VARIABLES_MAX} variables or ${VARIABLE_BYTES_MAX >> 20} MiB of them`)
      },
      get_log_level: () => LOG_LEVEL_INFO,
      log_trace: () => {},
      log_debug: log('debug'),
      log_info: log('info'),
      log_warn: log('warn'),
      log_error: log('error'),
      ...http.functions,
    },
    begin(input) {
      blocks.blocksReset()
      http.begin()
      blockCount = 1
      blockBytes = input.length
      const pointer = blocks.inputOpen(input.length)
      at(pointer, input.length).set(input)
    },
    output(bytesMax) {
      const length = blocks.outputLength()
      if (length > bytesMax) throw new CallEnded(`returned ${length} bytes, of which ${bytesMax} are allowed`)
      return length === 0 ? undefined : Buffer.from(at(blocks.outputPointer(), length))
    },
    error() {
      const bytes = read(blocks.errorBlock())
      // Cut before it becomes a text: a part of a text keeps all of it.
      return bytes === undefined || bytes.length === 0 ? undefined : bytes.subarray(0, ERROR_BYTES_MAX).toString('utf8')
    },
    memoryBytes: () => blocks.memory.buffer.byteLength,
  }
}
