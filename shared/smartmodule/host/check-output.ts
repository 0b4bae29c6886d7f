/**
 * What a topic's consumers or its broker would choke on is the failure of the record that it was made from: a value without the sink's
 * frame or without anything behind it, a timestamp or a lack of a key that the broker refuses. HOT: work per batch; per record only where
 * one is at fault, or where each must have a key.
 */
import { FRAMING_BYTES } from '../../model/framing.ts'
import type { Kernel } from './kernel.ts'
import type { StepSpec } from './spec.ts'

/**
 * A broker refuses a batch with a timestamp more than an hour ahead of its clock (`message.timestamp.after.max.ms`, Kafka 4.0); the rest
 * of the hour is for clocks that differ.
 */
const AHEAD_MAX_MS = 55n * 60_000n
/** A record without a timestamp (RecordBatch.NO_TIMESTAMP). */
const NO_TIMESTAMP = -1n
const LONG_MAX = (1n << 63n) - 1n

/** Tells the kernel which frame the values of the chain's last step must have: that of its `output_prefix`, if it has one. */
export function expectFrames(kernel: Kernel, steps: readonly StepSpec[]): void {
  const prefix = Buffer.from(steps.at(-1)?.document.output_prefix ?? '', 'base64')
  if (prefix.length === FRAMING_BYTES) kernel.expectFrame(steps.length, prefix.readInt32BE(1))
  else kernel.expectFrame(0, 0)
}

/** Fails the records whose values are not framed as `expectFrames` said. */
export function failUnframed(kernel: Kernel, failAt: (ordinal: number, code: string, message: string) => void): void {
  if (kernel.currentUnframed() === 0) return
  for (let at = kernel.findUnframed(0); at >= 0; at = kernel.findUnframed(at + 1))
    failAt(at, 'not_framed', 'the value that the SmartModule wrote is empty, or does not start with the prefix of the sink’s schema')
}

/** Fails the records without a key: a compacted topic refuses them, together with all others of their batch. */
export function failKeyless(kernel: Kernel, failAt: (ordinal: number, code: string, message: string) => void): void {
  for (let at = kernel.findKeyless(0); at >= 0; at = kernel.findKeyless(at + 1))
    failAt(at, 'key_missing', 'the record has no key, and the sink’s topic is compacted: the broker would refuse it')
}

const SET_BACK_MS = 3_600_000
/** A moment by the clock, and by what only goes forward. */
let moment = { clock: Date.now(), passed: performance.now() }

/**
 * The time by the clock, and by what has passed since a moment of the last hour: a clock that is set back must not blame records of now,
 * and one that was ahead until then must not let records through for ever that the broker refuses.
 */
function latestNow(): number {
  const passed = performance.now()
  if (passed - moment.passed > SET_BACK_MS) moment = { clock: Date.now(), passed }
  return Math.max(Date.now(), Math.floor(moment.clock + passed - moment.passed))
}

/** Fails the records whose timestamp a broker would refuse now. `baseTimestamp` is that of the batch. */
export function failUntimely(
  kernel: Kernel,
  baseTimestamp: bigint,
  failAt: (ordinal: number, code: string, message: string) => void,
): void {
  const earliest = NO_TIMESTAMP - baseTimestamp
  const ahead = BigInt(latestNow()) + AHEAD_MAX_MS - baseTimestamp
  // The kernel takes 64 bits.
  const latest = ahead > LONG_MAX ? LONG_MAX : ahead
  if (kernel.currentEarliest() >= earliest && kernel.currentLatest() <= latest) return
  for (let at = kernel.findUntimely(0, earliest, latest); at >= 0; at = kernel.findUntimely(at + 1, earliest, latest))
    failAt(at, 'invalid_timestamp', 'the record’s timestamp is negative or more than 55 minutes ahead: the broker would refuse it')
}
