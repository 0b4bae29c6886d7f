/** What a change of a pipeline, or of a manifest's set, changes, as people read it: by step, and of its config the members that differ. */
import { writeJson } from '../../../clients/typescript/src/core/exact-json.ts'
import { collect, isObject, type Change } from './records.ts'

type Difference = { path: string; before: unknown; after: unknown }
/** Manifests have other words for the same. */
type Step = { name?: unknown; module_id?: unknown; module?: unknown; config?: unknown; with?: unknown }

function nameOf(step: unknown): string {
  const { name, module_id, module } = (step ?? {}) as Step
  return String(name ?? module ?? module_id)
}

/** Pairs of steps of the same SmartModule, in the order of both chains, as many as there are; what has none was removed or added. */
function paired(before: readonly unknown[], after: readonly unknown[]): [before: number, after: number][] {
  // The longest common subsequence, from the end: `most[i][j]` is how many pairs the steps from i and j on have.
  const most = Array.from({ length: before.length + 1 }, () => Array.from({ length: after.length + 1 }, () => 0))
  for (let i = before.length - 1; i >= 0; i--)
    for (let j = after.length - 1; j >= 0; j--)
      most[i]![j] = nameOf(before[i]) === nameOf(after[j]) ? most[i + 1]![j + 1]! + 1 : Math.max(most[i + 1]![j]!, most[i]![j + 1]!)
  const pairs: [number, number][] = []
  for (let [i, j] = [0, 0]; i < before.length && j < after.length;) {
    if (nameOf(before[i]) === nameOf(after[j])) pairs.push([i++, j++])
    else if (most[i + 1]![j]! >= most[i]![j + 1]!) i++
    else j++
  }
  return pairs
}

function stepRows(before: readonly unknown[], after: readonly unknown[]): Change[] {
  const pairs = paired(before, after)
  const removed = before.flatMap((step, index): Change[] =>
    pairs.some(([each]) => each === index) ? [] : [{ path: `step ${index + 1} removed`, before: nameOf(step), after: undefined }],
  )
  const others = after.flatMap((step, index): Change[] => {
    const pair = pairs.find(([, each]) => each === index)
    if (!pair) {
      const { config, with: own } = step as Step
      return [{ path: `step ${index + 1} added`, before: undefined, after: `${nameOf(step)} ${writeJson(config ?? own ?? {})}` }]
    }
    const found: Change[] = []
    collect('', before[pair[0]], step, found)
    return found.map((change) => ({ ...change, path: `step ${index + 1}, ${nameOf(step)}: ${change.path}` }))
  })
  return [...removed, ...others]
}

/** The differences of a plan, of a pipeline or a manifest, one row for each member that differs. */
export function planRows(differences: readonly Difference[]): Change[] {
  return differences.flatMap(({ path, before, after }) => {
    if (/^\/(?:processors|steps)$/.test(path) && Array.isArray(before) && Array.isArray(after)) return stepRows(before, after)
    const where = path
      .slice(1)
      .replace(/^(?:processors|steps)\/(\d+)\/?/, (_whole, index: string) => `step ${Number(index) + 1}: `)
      .replaceAll('/', '.')
    const found: Change[] = []
    if (isObject(before) && isObject(after)) collect(where, before, after, found)
    else found.push({ path: where, before: writeJson(before), after: writeJson(after) })
    return found
  })
}
