/** Which revision a task runs, and the next one, which takes its place between two rounds. */
import type { OpenSink } from '../../../shared/connectors/sink.ts'
import type { Lanes } from '../lane/lanes.ts'
import type { Phases } from '../phases.ts'
import { createFailureThreshold, type FailureThreshold } from './failure-threshold.ts'
import { openRevision, type Revision, type Running } from './running.ts'
import type { Targets } from './targets.ts'

export type RevisionsOptions = {
  lanes: Lanes
  /** See `running.ts`. */
  signal: AbortSignal
  phases: Phases
  targets: Targets
  /** Partitions of the source. */
  partitions: number
  /** What the pipeline writes to where that is an external system. */
  sink: OpenSink | undefined
  log: (level: 'info', message: string) => void
  onChange: () => void
}

export type Revisions = {
  current(): Running
  /** Failed records are counted against the current revision's share. */
  threshold(): FailureThreshold
  /** The share is counted anew. */
  resetThreshold(): void
  /** The source is the topic with this id: what is known about another one's records is forgotten. True where there was another one. */
  begin(topicId: string): boolean
  hasNext(): boolean
  /** Positions were set from outside: they are to be loaded, not taken over from the round before. */
  isReset(): boolean
  /** Offers a later revision; an earlier one than is known already is ignored. True where it will take over. */
  offer(revision: Revision): boolean
  /** Takes the next revision over; nothing is under way. Throws `failed` when its chain does not start. */
  swap(): Promise<void>
  /** Opens another revision beside the current one; closed by the caller. */
  open(revision: Revision, sink: OpenSink | undefined): Promise<Running>
  close(): void
}

export async function openRevisions(options: RevisionsOptions, first: Revision): Promise<Revisions> {
  const { lanes, signal, phases, targets, partitions, sink } = options
  const open = (revision: Revision, to: OpenSink | undefined, before?: Running) =>
    openRevision({ lanes, signal, phases, before: before?.accounting }, revision, to, targets, partitions)
  let current = await open(first, sink)
  let next: Revision | undefined
  const thresholdOf = ({ definition }: Pick<Revision, 'definition'>) => createFailureThreshold(definition.failure_threshold)
  let threshold = thresholdOf(first)
  let known: string | undefined
  return {
    current: () => current,
    threshold: () => threshold,
    resetThreshold() {
      threshold = thresholdOf(current)
    },
    begin(topicId) {
      const isOther = known !== undefined && known !== topicId
      known = topicId
      if (!isOther) return false
      current.chain.forget()
      threshold = thresholdOf(current)
      return true
    },
    hasNext: () => next !== undefined,
    isReset: () => next !== undefined && next.definition.reset_revision > current.definition.reset_revision,
    offer(revision) {
      if (revision.definition.revision <= (next?.definition ?? current.definition).revision) return false
      next = revision
      return true
    },
    async swap() {
      const coming = next
      if (!coming) return
      next = undefined
      const before = current
      current = await open(coming, sink, before)
      before.chain.close()
      threshold = thresholdOf(coming)
      options.log('info', `revision ${coming.definition.revision} took over from ${before.definition.revision}`)
      options.onChange()
    },
    open: (revision, to) => open(revision, to, current),
    close: () => current.chain.close(),
  }
}
