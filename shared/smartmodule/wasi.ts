/** WASI preview 1 without files and sockets, for modules whose languages need it. Clock, random numbers and environment are the call's. */
import { CallEnded, type CallSeed, type HostFunctions } from './call-seed.ts'

/** WASI preview 1: `clockid`. */
const CLOCK_MONOTONIC = 1
const STEADY_STEP = 1_000_000n
const STANDARD_OUTPUT = 1
const STANDARD_ERROR = 2
const COMPLAINT_MAX = 300
/** Of what is written at once. */
const WRITTEN_BYTES_MAX = 65_536
/** A line's end is no longer waited for then. */
const LINE_BYTES_MAX = 4096
/** Sizes of WASI's subscriptions and events, and the tag of a clock's. */
const SUBSCRIPTION_BYTES = 48
const EVENT_BYTES = 32
const EVENT_CLOCK = 0
const ERRNO_BADF = 8
const ERRNO_NOSYS = 52

/** What is written to standard output and standard error, as lines of the log: a program may write a line piece by piece. */
function openOutput(call: CallSeed): (fd: number, bytes: Buffer) => void {
  // As `latin1`, because a character may be written in two pieces.
  const begun = new Map([
    [STANDARD_OUTPUT, ''],
    [STANDARD_ERROR, ''],
  ])
  const log = (fd: number, line: string) => {
    const text = Buffer.from(line, 'latin1').toString('utf8').trimEnd()
    if (text !== '') call.telemetry.log(fd === STANDARD_ERROR ? 'warn' : 'info', text)
  }
  call.flushLines = () => {
    for (const [fd, line] of begun) if (line !== '') log(fd, line)
    for (const fd of begun.keys()) begun.set(fd, '')
  }
  return (fd, bytes) => {
    const lines = ((begun.get(fd) ?? '') + bytes.toString('latin1')).split('\n')
    const last = lines.pop()!
    for (const line of lines) log(fd, line)
    begun.set(fd, last.length < LINE_BYTES_MAX ? last : '')
    if (last.length >= LINE_BYTES_MAX) log(fd, last)
  }
}

/** They read `call` on each use. `draw` gives random numbers of 32 bits. */
export function wasiFunctions(call: CallSeed, draw: () => number): HostFunctions[string] {
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
  const environment = () => Object.entries(call.environment).map(([name, value]) => Buffer.from(`${name}=${value}\0`))
  const output = openOutput(call)
  const zero = () => 0
  const badFile = () => ERRNO_BADF
  const writeTwoZeros = (first: number, second: number) => {
    view().setUint32(first, 0, true)
    view().setUint32(second, 0, true)
    return 0
  }
  return {
    args_get: zero,
    args_sizes_get: writeTwoZeros,
    environ_get: (pointers: number, target: number) => {
      let at = target
      for (const [index, entry] of environment().entries()) {
        view().setUint32(pointers + 4 * index, at, true)
        Buffer.from(view().buffer, at >>> 0, entry.length).set(entry)
        at += entry.length
      }
      return 0
    },
    environ_sizes_get: (count: number, size: number) => {
      view().setUint32(count, environment().length, true)
      view().setUint32(
        size,
        environment().reduce((sum, { length }) => sum + length, 0),
        true,
      )
      return 0
    },
    clock_res_get: (_clock: number, target: number) => {
      view().setBigUint64(target, 1_000_000n, true)
      return 0
    },
    clock_time_get: (clock: number, _precision: bigint, target: number) => {
      view().setBigUint64(target, clock === CLOCK_MONOTONIC ? steadyTime() : BigInt(call.timestampMs) * 1_000_000n, true)
      return 0
    },
    random_get: (pointer: number, length: number) => {
      const target = view()
      for (let i = 0; i < length; i++) target.setUint8(pointer + i, draw() & 255)
      return 0
    },
    fd_write: (fd: number, vectors: number, count: number, written: number) => {
      if (fd !== STANDARD_OUTPUT && fd !== STANDARD_ERROR) return ERRNO_BADF
      const memory = view()
      let total = 0
      for (let i = 0; i < count; i++) {
        const pointer = memory.getUint32(vectors + i * 8, true)
        const length = memory.getUint32(vectors + i * 8 + 4, true)
        if (length > 0 && total < WRITTEN_BYTES_MAX) {
          const bytes = Buffer.from(memory.buffer, pointer, Math.min(length, WRITTEN_BYTES_MAX))
          if (fd === STANDARD_ERROR && call.complaint.length < COMPLAINT_MAX)
            call.complaint += bytes.toString('utf8').slice(0, COMPLAINT_MAX - call.complaint.length)
          output(fd, bytes)
        }
        total += length
      }
      memory.setUint32(written, total, true)
      return 0
    },
    fd_read: badFile,
    fd_close: badFile,
    fd_seek: badFile,
    fd_fdstat_get: (fd: number, target: number) => {
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
    proc_exit: (code: number) => {
      throw new CallEnded(`the module called proc_exit(${code})`)
    },
    sched_yield: zero,
    // Go's runtime sleeps by it: a clock has always come.
    poll_oneoff: (from: number, to: number, count: number, written: number) => {
      const memory = view()
      for (let i = 0; i < count; i++) {
        const [subscription, event] = [from + SUBSCRIPTION_BYTES * i, to + EVENT_BYTES * i]
        const tag = memory.getUint8(subscription + 8)
        memory.setBigUint64(event, memory.getBigUint64(subscription, true), true)
        memory.setUint16(event + 8, tag === EVENT_CLOCK ? 0 : ERRNO_NOSYS, true)
        memory.setUint8(event + 10, tag)
      }
      memory.setUint32(written, count, true)
      return 0
    },
  }
}
