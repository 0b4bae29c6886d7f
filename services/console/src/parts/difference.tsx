/** What is different between two records, or two configs, member by member. */
import type { TraceRecord } from '../../../../clients/typescript/src/generated/types.ts'
import { changesBetween, type Change } from '../records.ts'

export function Difference({ before, after }: { before: TraceRecord; after: TraceRecord }) {
  const changes = changesBetween(before, after)
  return changes.length === 0 ? <p class="quiet">unchanged</p> : <Changes title="What the step changed" changes={changes} />
}

/** A row for each member, as it was and as it is. */
export function Changes({ title, changes }: { title: string; changes: readonly Change[] }) {
  return (
    <table class="difference">
      <caption class="hidden">{title}</caption>
      <tbody>
        {changes.map(({ path, before: was, after: is }) => (
          <tr key={path}>
            <th scope="row">{path}</th>
            <td class="was">{was ?? <span class="quiet">absent</span>}</td>
            <td class="is">{is ?? <span class="quiet">removed</span>}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
