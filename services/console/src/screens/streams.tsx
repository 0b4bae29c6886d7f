/** All streams of the account. */
import type { ListStreamsResponse } from '../../../../clients/typescript/src/generated/types.ts'
import { HOME, withQuery } from '../api.ts'
import { Paged } from '../parts/paged.tsx'
import { Badge, Time, Title } from '../parts/parts.tsx'

export function Streams() {
  return (
    <>
      <Title text="Streams" />
      <Paged<ListStreamsResponse, ListStreamsResponse['streams'][number]>
        label="Streams"
        path={(page) => withQuery('/streams', { page, page_size: 50, sort: 'name' })}
        items={({ streams }) => streams}
        columns={['Stream', 'Status', 'Changed']}
        none="There are no streams yet."
        row={({ id, name, description, status, updated_at }) => (
          <tr key={id}>
            <th scope="row">
              <a href={`${HOME.pathname}streams/${id}`}>{name}</a>
              {description && <small>{description}</small>}
            </th>
            <td>
              <Badge text={status} />
            </td>
            <td>
              <Time at={updated_at} />
            </td>
          </tr>
        )}
      />
    </>
  )
}
