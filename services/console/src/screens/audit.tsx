/** Who changed what, and when; the newest first. */
import { writeJson } from '../../../../clients/typescript/src/core/exact-json.ts'
import type { ListAuditResponse } from '../../../../clients/typescript/src/generated/types.ts'
import { withQuery } from '../api.ts'
import { Paged } from '../parts/paged.tsx'
import { Time, Title } from '../parts/parts.tsx'

export function Audit() {
  return (
    <>
      <Title text="Audit log" />
      <Paged<ListAuditResponse, ListAuditResponse['entries'][number]>
        label="Audit log"
        path={(page) => withQuery('/audit', { page, page_size: 50, sort: '-created_at' })}
        items={({ entries }) => entries}
        columns={['When', 'Who', 'What', 'Of', 'Answer', 'From']}
        none="Nothing was changed yet."
        row={({ id, at, actor, operation, resource_id, status, address, before, after }) => (
          <tr key={id}>
            <td>
              <Time at={at} />
            </td>
            <td>{actor}</td>
            <th scope="row">
              {(before ?? after) === null ? (
                operation
              ) : (
                <details>
                  <summary>{operation}</summary>
                  <pre tabIndex={0}>{writeJson({ before, after }, 2)}</pre>
                </details>
              )}
            </th>
            <td>{resource_id}</td>
            <td>{status ?? 'unknown'}</td>
            <td>{address}</td>
          </tr>
        )}
      />
    </>
  )
}
