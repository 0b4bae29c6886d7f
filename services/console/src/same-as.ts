/**
 * What a form is about to do, as `curl` commands and as a manifest. The reader fills in address and token: `URL` and `TOKEN`, as everywhere
 * in the documents.
 */
import { writeJson } from '../../../clients/typescript/src/core/exact-json.ts'

export type Request = {
  method: string
  path: string
  body?: unknown
  /** A command whose output is the body, in place of one that is written down. */
  bodyFrom?: string
  /** The version that the resource must still have. */
  ifMatch?: string
  /** The shell variable that takes this member of the answer, for the requests behind it. */
  into?: string
  take?: string
}

/** Stands for a shell variable in a path or a body of the same commands. U+0001 is in no name, and is escaped in JSON. */
export const variable = (name: string): string => `\u0001${name}\u0001`

/** Single-quoted for a shell. */
export const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`
/** Single-quoted, and not taken for an option. */
export const operand = (text: string): string => `${text.startsWith('-') ? '-- ' : ''}${quoted(text)}`

/** Throws where a form's value is missing: what is not complete is not shown. */
export function needed(...values: readonly (string | readonly unknown[])[]): void {
  if (values.some(({ length }) => length === 0)) throw new Error('a value is missing')
}

/** Systems take some 128 KiB as one argument. */
const ARGUMENT_MAX = 100_000

function curlOf({ method, path, body, bodyFrom, ifMatch, into, take }: Request, variables: ReadonlySet<string>): string {
  // A variable ends the quotes around it.
  const withVariables = (text: string): string =>
    text.replaceAll(/(?:\\u0001|\u0001)([A-Z_]+)(?:\\u0001|\u0001)/g, (found, name: string) =>
      variables.has(name) ? `'"$${name}"'` : found,
    )
  const written = body === undefined ? undefined : withVariables(quoted(writeJson(body)))
  const sent = bodyFrom === undefined ? written : '@-'
  const isLong = sent !== undefined && sent.length > ARGUMENT_MAX
  const parts = [
    `curl -sS --fail-with-body -X ${method} "$URL"${withVariables(quoted(`/v1${path}`))}`,
    `-H "Authorization: Bearer $TOKEN"`,
    ...(ifMatch === undefined ? [] : [`-H ${quoted(`If-Match: ${ifMatch}`)}`]),
    ...(sent === undefined ? [] : [`-H 'Content-Type: application/json'`, `-d ${isLong ? '@body.json' : sent}`]),
  ]
  const command = `${bodyFrom === undefined ? '' : `${bodyFrom} | `}${parts.join(' \\\n  ')}`
  const note = isLong ? '# its body is too long for a command: as body.json\n' : ''
  if (into === undefined) return note + command
  return `${note}${into}=$(${command} | jq -er '.${take} // error(.error.message)')`
}

/** The requests as `curl`, one after the other; after a refusal there is no next one. */
export function asCurl(requests: readonly Request[]): string {
  const variables = new Set(requests.flatMap(({ into }) => into ?? []))
  return requests.map((request) => curlOf(request, variables)).join(' &&\n\n')
}

/** A manifest whose sections hold one JSON value for each name: JSON is YAML. */
export function asYaml(set: string, sections: Record<string, Record<string, unknown>>): string {
  const lines = Object.entries(sections).flatMap(([section, entries]) => [
    `${section}:`,
    ...Object.entries(entries).map(([name, value]) => `  ${JSON.stringify(name)}: ${writeJson(value)}`),
  ])
  return ['dps: 1', `set: ${JSON.stringify(set)}`, ...lines].join('\n')
}
