/** What is different between two records, member by member. */
import type { TraceRecord } from '../../../../clients/typescript/src/generated/types.ts'
import { changesBetween } from '../records.ts'

export function Difference({ before, after }: { before: TraceRecord; after: TraceRecord }) {
  const changes = changesBetween(before, after)
  if (changes.length === 0) return <p class="quiet">unchanged</p>
  return (
    <table class="difference">
      <caption class="hidden">What the step changed</caption>
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
