/** The versions of a SmartModule: when each came, what its code was, and the tests that are kept with it. */
import { useState } from 'preact/hooks'
import type { GetSmartModuleVersionResponse, ListSmartModuleVersionsResponse } from '../../../../clients/typescript/src/generated/types.ts'
import { writeJson } from '../../../../clients/typescript/src/core/exact-json.ts'
import { withQuery } from '../api.ts'
import { useQuery } from '../query.ts'
import { Paged } from './paged.tsx'
import { Badge } from './badge.tsx'
import { Loaded } from './failures.tsx'
import { Time } from './time.tsx'

function Version({ path, onCode }: { path: string; onCode: ((code: string) => void) | undefined }) {
  const version = useQuery<GetSmartModuleVersionResponse>(path)
  return (
    <Loaded query={version}>
      {({ version: number, source, sha256, tests = [] }) => (
        <section aria-label={`Version ${number}`}>
          <p class="quiet">
            version {number}, sha256 <code>{sha256}</code>
          </p>
          {source && (
            <>
              <pre tabIndex={0} aria-label={`The code of version ${number}`}>
                {source.code}
              </pre>
              {onCode && (
                <button type="button" onClick={() => onCode(source.code)}>
                  Take this code into the editor
                </button>
              )}
            </>
          )}
          {tests.length === 0 && <p class="quiet">No tests are kept with it.</p>}
          {tests.map(({ title, records, out, failures }, index) => (
            <details key={index}>
              <summary>Test {title === '' ? index + 1 : title}</summary>
              <pre tabIndex={0} aria-label={`Test ${index + 1}`}>
                {[
                  ...records.map(({ value }) => `in   ${writeJson(value)}`),
                  ...out.map((value) => `out  ${writeJson(value)}`),
                  ...failures.map((message) => `fails with ${message}`),
                ].join('\n')}
              </pre>
            </details>
          ))}
        </section>
      )}
    </Loaded>
  )
}

/** `onCode` takes an earlier version's code, to begin from it again. */
export function Versions({ id, onCode }: { id: string; onCode: ((code: string) => void) | undefined }) {
  const [chosen, setChosen] = useState<string>()
  const path = `/smartmodules/${id}/versions`
  return (
    <details>
      <summary>Versions and tests</summary>
      <Paged<ListSmartModuleVersionsResponse, ListSmartModuleVersionsResponse['versions'][number]>
        label="Versions"
        path={(page) => withQuery(path, { page, page_size: 20 })}
        items={({ versions }) => versions}
        columns={['Version', 'Kind', '#Bytes', 'Deployed', '']}
        none="There are no versions."
        row={({ version, status, kind, bytes, created_at }) => (
          <tr key={version}>
            <th scope="row">
              {version} {status !== 'deployed' && <Badge text={status} />}
            </th>
            <td>{kind}</td>
            <td class="number" data-of="Bytes">
              {bytes}
            </td>
            <td>
              <Time at={created_at} />
            </td>
            <td>
              <button type="button" class="plain" aria-label={`Show version ${version}`} onClick={() => setChosen(version)}>
                show
              </button>
            </td>
          </tr>
        )}
      />
      {chosen !== undefined && <Version key={chosen} path={`${path}/${encodeURIComponent(chosen)}`} onCode={onCode} />}
    </details>
  )
}
