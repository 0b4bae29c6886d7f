/** Who changed what, and when; the newest first. */
import { writeJson } from '../../../../clients/typescript/src/core/exact-json.ts'
import type {
  GetOverviewResponse,
  ListAuditResponse,
  ListKeysResponse,
  ListMembersResponse,
  ListSecretsResponse,
  ListSmartModulesResponse,
  ListStreamsResponse,
} from '../../../../clients/typescript/src/generated/types.ts'
import { withQuery } from '../api.ts'
import { AUDITED } from '../audited-operations.ts'
import { Paged } from '../parts/paged.tsx'
import { Time } from '../parts/time.tsx'
import { Title } from '../parts/title.tsx'
import { useAll, useQuery } from '../query.ts'
import { may } from '../session.ts'

/** As `create pipeline`. */
const titleOf = (operation: string): string =>
  operation.replace(/SmartModule|[A-Z]/g, (each) => ` ${each.length > 1 ? each : each.toLowerCase()}`)

/** The log, for those who may read it. */
export const Audit = () =>
  may('audit:read') ? (
    <AuditLog />
  ) : (
    <>
      <Title text="Audit log" />
      <p class="quiet">Your role may not read it: an owner’s may.</p>
    </>
  )

function AuditLog() {
  const pipelines = useQuery<GetOverviewResponse>('/overview').data?.pipelines ?? []
  const streams = useAll<ListStreamsResponse>('/streams').data?.streams ?? []
  const members = useAll<ListMembersResponse>('/members').data?.members ?? []
  const keys = useAll<ListKeysResponse>('/keys').data?.keys ?? []
  const modules = useAll<ListSmartModulesResponse>('/smartmodules').data?.modules ?? []
  const secrets = useAll<ListSecretsResponse>('/secrets').data?.secrets ?? []
  const kinds = { pipeline: pipelines, stream: streams, member: members, key: keys, SmartModule: modules, secret: secrets }
  const all = Object.entries(kinds).flatMap(([kind, items]) => items.map(({ id, name }) => ({ kind, id, name })))
  const names = new Map(all.map(({ id, name }) => [id, name]))
  const times = new Map<string, number>()
  for (const { name } of all) times.set(name, (times.get(name) ?? 0) + 1)
  /** By its name, as long as it is there; the id, which requests take, is in the tooltip. */
  const named = (id: string | null) => (
    <td title={id ?? undefined}>{id?.startsWith('acc_') ? 'the account' : id === null ? '' : (names.get(id) ?? id)}</td>
  )
  return (
    <>
      <Title text="Audit log" />
      <Paged<ListAuditResponse, ListAuditResponse['entries'][number]>
        label="Audit log"
        path={(page, chosen) => withQuery('/audit', { ...chosen, page, page_size: 50, sort: '-created_at' })}
        filters={{
          actor: { title: 'By', choices: [...[...members, ...keys].map(({ id, name }) => [id, name] as const), ['operator', 'operator']] },
          operation: { title: 'What', choices: AUDITED.map((each) => [each, titleOf(each)] as const) },
          resource_id: {
            title: 'Of',
            choices: all.map(({ kind, id, name }) => [id, times.get(name) === 1 ? name : `${name} (${kind})`] as const),
          },
        }}
        items={({ entries }) => entries}
        columns={['When', 'Who', 'What', 'Of', 'Answer', 'From']}
        none="Nothing was changed yet."
        row={({ id, at, actor, operation, resource_id, status, address, before, after }) => (
          <tr key={id}>
            <td>
              <Time at={at} />
            </td>
            {named(actor)}
            <th scope="row">
              {(before ?? after) === null ? (
                titleOf(operation)
              ) : (
                <details>
                  <summary>{titleOf(operation)}</summary>
                  <pre tabIndex={0}>{writeJson({ before, after }, 2)}</pre>
                </details>
              )}
            </th>
            {named(resource_id)}
            <td>{status ?? 'unknown'}</td>
            <td>{address}</td>
          </tr>
        )}
      />
    </>
  )
}
