/** Results of a trial: their counts, and each record with its changes. */
import type { Trace } from '../../../../clients/typescript/src/generated/types.ts'
import { glimpse } from '../records.ts'
import { Difference } from './difference.tsx'
import { Badge } from './badge.tsx'
import { Table } from './table.tsx'

export function Results({ traces }: { traces: Trace[] }) {
  const counts = new Map<string, number>()
  for (const { outcome } of traces) counts.set(outcome, (counts.get(outcome) ?? 0) + 1)
  return (
    <>
      <p role="status">
        {traces.length} {traces.length === 1 ? 'record' : 'records'}:{' '}
        {[...counts].map(([outcome, times]) => (
          <span key={outcome}>
            {times} <Badge text={outcome} />{' '}
          </span>
        ))}
      </p>
      <Table label="What became of the records">
        {traces.map((trace) => {
          const failed = trace.steps.find(({ error }) => error)
          const logs = trace.steps.flatMap((step) => step.logs)
          return (
            <tr key={`${trace.partition}:${trace.offset}`}>
              <th scope="row">
                {trace.partition}:{trace.offset}
              </th>
              <td>
                <Badge text={trace.outcome} />
              </td>
              <td class="value">
                {glimpse(trace.input.value)}
                {failed?.error && <div class="bad">{failed.error.message}</div>}
                {trace.outputs.map((out, index) => (
                  <Difference key={index} before={trace.input} after={out} />
                ))}
                {logs.length > 0 && <small>{logs.join(' · ')}</small>}
              </td>
            </tr>
          )
        })}
      </Table>
    </>
  )
}
