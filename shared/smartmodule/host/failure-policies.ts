/**
 * Decides what happens to a record that a step fails on, by the step's policy: dead letter, skip, retry, or the end of the pipeline.
 * Handles one batch at a time; the failures of a discarded run (bisecting) are discarded with it.
 */
import { cutText, FAILURE_CHARACTERS_MAX } from '../../model/text.ts'
import { ON_ERROR_DEFAULT, type OnError } from '../../model/policies.ts'
import type { ChainOutput, ChainSpec, KnownFailures, RecordFailure } from './spec.ts'

/** Thrown for a failed record under the policy `fail`: it ends the pipeline. */
export class RecordRefused extends Error {}

/** The failure policies of one chain, see `createFailurePolicies`. */
export type FailurePolicies = ReturnType<typeof createFailurePolicies>

/** Bounds memory when a module fails most records under the policy `retry`: the records beyond this many are tried again in later runs. */
const RETRIES_PENDING_MAX = 10_000

/** Failure policies for one chain: `open` a batch, `begin` each run, `judge` failures, then `hand` them to the output. */
export function createFailurePolicies(spec: ChainSpec) {
  let partition = 0
  let baseOffset = 0n
  let knownFailures: KnownFailures | undefined
  let pending: RecordFailure[] = []
  let retries: bigint[] = []
  const policyOf = (step: number): OnError => spec.steps[step]?.onError ?? spec.on_error ?? ON_ERROR_DEFAULT

  return {
    open(ofPartition: number, offset: bigint, known: KnownFailures | undefined): void {
      partition = ofPartition
      baseOffset = offset
      knownFailures = known
    },
    /** Forgets the failures of the previous run. */
    begin(): void {
      pending = []
      retries = []
    },
    hasPoison: (): boolean => knownFailures !== undefined && knownFailures.poison.length > 0,
    poisonAt: (delta: number) => knownFailures?.poison.find(({ offset }) => offset === baseOffset + BigInt(delta)),
    /**
     * Whether the record is skipped or fails; `isCanarys`: a canary had it. A record that has a dead letter fails, whatever the policy is.
     * Throws RecordRefused under the policy `fail`.
     */
    judge(delta: number, step: number, code: string, said: string, mayRetry = true, isCanarys = false): 'failed' | 'skipped' {
      const offset = baseOffset + BigInt(delta)
      const { policy, retries_max } = knownFailures?.deadLettered.has(offset) ? ON_ERROR_DEFAULT : policyOf(step)
      if (policy === 'skip') return 'skipped'
      // A database's error has the whole value that it refuses, and a batch has thousands of failures.
      const message = cutText(said, FAILURE_CHARACTERS_MAX)
      if (policy === 'fail') {
        const name = spec.steps[step]?.name
        throw new RecordRefused(
          `${step < spec.steps.length ? `step ${step + 1}${name ? ` (${name})` : ''} failed` : 'the sink refused'} the record at offset ${offset} of partition ${partition} (${code}: ${message}), and its policy is fail`,
        )
      }
      const attempts = (knownFailures?.attempts.get(offset) ?? 0) + 1
      if (policy === 'retry' && mayRetry && attempts <= retries_max && retries.length < RETRIES_PENDING_MAX) retries.push(offset)
      pending.push({ delta, step, code, message, attempts, ...(isCanarys ? { isCanarys } : {}) })
      return 'failed'
    },
    hand(output: ChainOutput): void {
      output.failures.push(...pending)
      output.retries.push(...retries)
    },
  }
}
