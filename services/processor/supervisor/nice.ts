/** How CPU time is shared among runners: by account type, and what ended its runner before comes last. Pure. */
import type { AccountType } from '../../../shared/model/limits.ts'
import { isSuspect } from './blame.ts'
import type { DefinitionCopy } from './definitions.ts'
import type { Placement } from './runner-group.ts'

/** Each step is a factor of 1.25 (sched(7)): an enterprise account gets three times a developer's. Brokers and stores have 0. */
const BY_TYPE: Record<AccountType, number> = { enterprise: 4, professional: 6, developer: 9 }
const SUSPECT_MORE = 6
/**
 * Added while slow SmartModules keep a lane. Its thread comes last already, but only within the runner: the kernel shares time among
 * sessions first.
 */
const SLOW_MORE = 6
/** What the others leave over. */
const LAST = 19

/** The nice value of a group's runner; accounts that share one have the best of theirs. */
export function niceOf(group: string, placement: Placement, definitions: Pick<DefinitionCopy, 'account'>, hasSteppedBack: boolean): number {
  const values = [...placement.values()].map(({ definition }) => {
    const { type = 'professional', is_over_cpu = false } = definitions.account(definition.account_id) ?? {}
    return is_over_cpu ? LAST : BY_TYPE[type]
  })
  const best = Math.min(...values)
  const more = (isSuspect(group) ? SUSPECT_MORE : 0) + (hasSteppedBack ? SLOW_MORE : 0)
  return Math.min(best + more, LAST)
}
