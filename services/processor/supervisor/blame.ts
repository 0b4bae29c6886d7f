/**
 * Which runner a pipeline belongs to, and which pipeline is at fault when runners end by themselves. Pure but for the clock.
 *
 * The runner of a group ends twice within ten minutes: the pipelines that were at work, or all of them where none was noted, become
 * suspects. A few get a runner each; many are halved, and halved again. A pipeline whose own runner ends twice more has failed. A suspect
 * that has caused no end for ten minutes goes back.
 */
import { runIdOf, type PipelineDefinition } from '../../../shared/model/definition.ts'

const WINDOW_MS = 10 * 60_000
/** Ends within the window after which a shared runner is taken apart, and after which a pipeline alone in its runner has failed. */
const ENDS_MAX = 2
/** More suspects than this are halved: a runner for each would take too much memory. */
const ALONE_MAX = 4

type Suspicion = { group: string; since: number; ends: number; revision: number; attempt: number }

/** Whether a runner's group is one of suspects, of one pipeline or of several. */
export const isSuspect = (group: string): boolean => group.startsWith('suspect')

export type Blame = ReturnType<typeof createBlame>

/** `groupOfAccount`: the runner that the account's pipelines share. `now`: in milliseconds, by a clock that only goes forward. */
export function createBlame(groupOfAccount: (accountId: string) => string, now = () => performance.now()) {
  const suspicions = new Map<string, Suspicion>()
  const ends = new Map<string, number[]>()
  let nextGroup = 1

  function endsOf(group: string): number[] {
    return (ends.get(group) ?? []).filter((at) => now() - at < WINDOW_MS)
  }

  function takeApart(suspects: readonly PipelineDefinition[]): void {
    const half = Math.ceil(suspects.length / 2)
    const halves = [`suspects/${nextGroup++}`, `suspects/${nextGroup++}`] as const
    for (const [index, definition] of suspects.entries()) {
      const { revision, attempt } = definition
      const runId = runIdOf(definition)
      const group = suspects.length <= ALONE_MAX ? `suspect/${runId}` : index < half ? halves[0] : halves[1]
      suspicions.set(runId, { group, since: now(), ends: 0, revision, attempt })
    }
  }

  return {
    /** The group whose runner the run belongs to. A later revision, or a start by hand, is no suspect any more. */
    groupOf(definition: PipelineDefinition): string {
      const runId = runIdOf(definition)
      const known = suspicions.get(runId)
      if (known && known.revision === definition.revision && known.attempt === definition.attempt && now() - known.since < WINDOW_MS)
        return known.group
      suspicions.delete(runId)
      return groupOfAccount(definition.account_id)
    },
    /**
     * The runner of the group, with these runs, ended by itself; `atWork`: the runs that it had noted. Returns the runs that have failed.
     */
    onEnd(group: string, runs: readonly PipelineDefinition[], atWork: ReadonlySet<string>): PipelineDefinition[] {
      ends.set(group, [...endsOf(group), now()])
      const noted = runs.filter((definition) => atWork.has(runIdOf(definition)))
      const suspects = noted.length > 0 ? noted : runs
      const [first] = runs
      const own = first && runs.length === 1 ? suspicions.get(runIdOf(first)) : undefined
      if (own?.group === group) {
        own.since = now()
        if (++own.ends < ENDS_MAX) return []
        suspicions.delete(runIdOf(first!))
        return [first!]
      }
      if (endsOf(group).length < ENDS_MAX && !group.startsWith('suspects/')) return []
      ends.delete(group)
      takeApart(suspects)
      return []
    },
    /** Forgets runs that are not known any more, and ends that are long past. */
    prune(isKnown: (runId: string) => boolean): void {
      for (const runId of suspicions.keys()) if (!isKnown(runId)) suspicions.delete(runId)
      for (const group of ends.keys()) if (endsOf(group).length === 0) ends.delete(group)
    },
  }
}
