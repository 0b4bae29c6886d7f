/** Why a call of a SmartModule ended before it returned, in words that help its author. */
import { reasonOf } from '../errors/reason-of.ts'
import { SMARTMODULE_LIMITS } from './abi.ts'
import type { CallSeed } from './call-seed.ts'

const MEMORY_MIB = (SMARTMODULE_LIMITS.memory_pages_max * 64) >> 10

/** With what the call last wrote to its standard error, where languages say why they end. */
export function whyEnded(error: unknown, { complaint }: Pick<CallSeed, 'complaint'>): string {
  const reason = reasonOf(error)
  // The paragraph in front of Go's list of goroutines.
  const [said = ''] = complaint.trim().split('\n\n')
  if (said !== '') return `${reason}: ${said}`
  // A panic is compiled to it, and AssemblyScript's allocator ends in it when memory runs out.
  return reason === 'unreachable'
    ? `unreachable: it gave up by itself, or is out of memory: an instance may take ${MEMORY_MIB} MiB`
    : reason
}
