/** The account's SmartModules and the built-in ones. */
import type { ListSmartModulesResponse } from '../../../../clients/typescript/src/generated/types.ts'
import { HOME, withQuery } from '../api.ts'
import { Paged } from '../parts/paged.tsx'
import { Time } from '../parts/time.tsx'
import { Title } from '../parts/title.tsx'
import { may } from '../session.ts'

export function SmartModules() {
  return (
    <>
      <Title text="SmartModules">
        {may('smartmodules:write') && (
          <a class="button" href={`${HOME.pathname}smartmodules/new`}>
            New SmartModule
          </a>
        )}
      </Title>
      <Paged<ListSmartModulesResponse, ListSmartModulesResponse['modules'][number]>
        label="SmartModules"
        path={(page) => withQuery('/smartmodules', { page, page_size: 50, sort: 'name' })}
        items={({ modules }) => modules}
        columns={['SmartModule', 'Newest version', 'Deployed']}
        none="There are no SmartModules."
        row={({ id, name, description, version, created_at }) => (
          <tr key={id}>
            <th scope="row">
              <a href={`${HOME.pathname}smartmodules/${id}`}>{name}</a>
              {description && <small>{description}</small>}
            </th>
            <td>{version}</td>
            <td>
              <Time at={created_at} />
            </td>
          </tr>
        )}
      />
    </>
  )
}
