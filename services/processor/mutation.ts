/**
 * Deliberate faults, for the chaos harness alone (`make chaos`): each breaks one of the delivery's rules, and the oracle must notice. Set
 * by `DPS_MUTATION`, which a processor refuses unless NODE_ENV is `test`.
 */
export const MUTATIONS = [
  /** The offsets are committed in a transaction of their own before the output is written. */
  'commit_before_output',
  /** The offsets are committed without member and generation: a stale owner is not refused. */
  'no_member_fencing',
  /** After a doubt the task goes on in the same transaction, without a fresh epoch. */
  'no_new_epoch',
  /** Sequences are not counted. */
  'no_sequences',
  /** The output is written outside of the transaction. */
  'output_outside_transaction',
  /** A commit without an answer counts as done. */
  'assume_committed',
  /** Aborted batches of the source count. */
  'count_aborted',
  /** A failed record is dropped without a dead letter. */
  'drop_failed',
  /** The batches of a partition are written in reverse. */
  'reverse_batches',
  /** A new owner starts at the end of what is there. */
  'start_at_end',
  /** A dropped round is not replayed. */
  'skip_dropped_round',
  /** The counters of a round are added twice. */
  'count_twice',
] as const

/** Moments of a round in which the whole process stands still (SIGSTOP), once: its successor takes over, and what it does later must be refused. */
export const FREEZES = [
  'freeze_before_chain',
  'freeze_before_output',
  'freeze_before_offsets',
  'freeze_before_commit',
  'freeze_after_commit',
] as const
export type Freeze = (typeof FREEZES)[number]
export type Mutation = (typeof MUTATIONS)[number] | Freeze

/** The first rounds pass, so that it happens under way. */
let untilFreeze = 10

/** Stands still here if the mutation says so. */
export function freezeAt(moment: Freeze, mutation: Mutation | undefined): void {
  if (mutation === moment && --untilFreeze === 0) process.kill(process.pid, 'SIGSTOP')
}
