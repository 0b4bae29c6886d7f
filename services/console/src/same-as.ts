/** What a form is about to do, written as commands for `curl` and as a manifest. The token and the service's address are the reader's. */
import { writeJson } from '../../../clients/typescript/src/core/exact-json.ts'

/** One request of a form. `into`: the shell variable that takes the answer's `take`, for the requests behind it. */
export type Request = { method: string; path: string; body?: unknown; into?: string; take?: string }

/** Stands for a shell variable in a path or a body. U+0001 is in no name, and is escaped in JSON. */
export const variable = (name: string): string => `\u0001${name}\u0001`

/** Single-quoted for a shell. */
export const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

// The variables end the quotes around them.
const withVariables = (text: string): string => text.replaceAll(/(?:\\u0001|\u0001)([A-Z_]+)(?:\\u0001|\u0001)/g, `'"$$$1"'`)

function curlOf({ method, path, body, into, take }: Request): string {
  const parts = [
    `curl -sS -X ${method} ${withVariables(`"$DPS_URL"${quoted(`/v1${path}`)}`).replaceAll("''", '')}`,
    `-H "Authorization: Bearer $DPS_TOKEN"`,
    ...(body === undefined ? [] : [`-H 'Content-Type: application/json'`, `-d ${withVariables(quoted(writeJson(body)))}`]),
  ]
  const command = parts.join(' \\\n  ')
  return into === undefined ? command : `${into}=$(${command} | jq -r .${take})`
}

/** The requests as `curl`, one after the other. */
export const asCurl = (requests: readonly Request[]): string => requests.map(curlOf).join('\n\n')

/** A manifest whose sections hold one JSON value for each name: JSON is YAML. */
export function asYaml(set: string, sections: Record<string, Record<string, unknown>>): string {
  const lines = Object.entries(sections).flatMap(([section, entries]) => [
    `${section}:`,
    ...Object.entries(entries).map(([name, value]) => `  ${JSON.stringify(name)}: ${writeJson(value)}`),
  ])
  return ['dps: 1', `set: ${JSON.stringify(set)}`, ...lines].join('\n')
}
