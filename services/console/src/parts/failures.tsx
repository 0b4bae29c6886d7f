/** What could not be read, and what was refused. */
import type { ComponentChildren } from 'preact'
import type { Detail, Failure } from '../api.ts'
import type { Query } from '../query.ts'
import { inWords } from '../typed-text.ts'

/** The message without what the details below say again. */
function headOf({ message, details }: Failure): string {
  const first = details[0]
  if (!first) return message
  const at = message.indexOf(first.path === '' ? first.message : `${first.path}: ${first.message}`)
  // A message that begins so has no head.
  return at < 0 ? message : message.slice(0, at).replace(/:? *$/, '')
}

const isAt = (path: string, at: string): boolean => `${path}/`.startsWith(`${at}/`)

/** What was refused about the member, to be said beside its field. */
export const faultAt = (failure: Failure | undefined, at: string): string | undefined =>
  failure?.details
    .filter(({ path }) => isAt(path, at))
    .map(({ path, message }) => `${inWords(path, at)} ${message}`.trim())
    .join('; ')

/** Items of a list. */
export const Details = ({ details }: { details: readonly Detail[] }) => (
  <>
    {details.map(({ path, message }) => (
      <li key={path + message}>
        {path && <b>{inWords(path)}</b>} {message}
      </li>
    ))}
  </>
)

/** `beside`: members whose fields say themselves what is wrong with them. */
export function Refused({ failure, beside = [] }: { failure: Failure | undefined; beside?: readonly string[] }) {
  if (!failure) return null
  const details = failure.details.filter(({ path }) => !beside.some((at) => isAt(path, at)))
  if (details.length === 0 && failure.details.length > 0) return null
  return (
    <div class="refused" role="alert">
      {headOf(failure)}
      {details.length > 0 && (
        <ul>
          <Details details={details} />
        </ul>
      )}
    </div>
  )
}

/** What a query has so far: never "nothing here" where nothing could be read. */
export function Loaded<T>({ query, children }: { query: Query<T>; children: (data: T) => ComponentChildren }) {
  const { data, failure } = query
  if (data !== undefined)
    return (
      <>
        {failure && failure.status !== 0 && <Refused failure={failure} />}
        {children(data)}
      </>
    )
  if (!failure) return <p class="quiet">Reading…</p>
  return failure.status === 0 || failure.status >= 500 ? (
    <p class="quiet" role="status">
      The service does not answer; trying again…
    </p>
  ) : (
    <Refused failure={failure} />
  )
}
