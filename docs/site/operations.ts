/** The reference of the API as documents: one for each resource, its operations with an example for each way to call them. */
import { describeApi, type Method } from '../../clients/generate/document.ts'
import { CLI_COMMANDS } from './cli-commands.ts'
import type { Page } from './pages.ts'

const snake = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
const parametersOf = (path: string): string[] => [...path.matchAll(/:(\w+)/g)].map(([, name]) => name!)

function curlOf({ contract, body }: Method): string {
  const method = contract.method === 'GET' ? '' : ` -X ${contract.method}`
  const sent = body ? ` \\\n  -H 'content-type: application/json' -d @body.json` : ''
  return `curl${contract.events ? ' -N' : ''}${method} -H "authorization: Bearer $TOKEN" "$URL/v1${contract.path.replaceAll(/:(\w+)/g, '{$1}')}"${sent}`
}

function exampleOf(method: Method): string {
  const { contract, resource, name, body } = method
  const given = parametersOf(contract.path)
  const typescript = [...given, ...(body ? ['body'] : [])].join(', ')
  const loop = method.events && method.replies.length === 0
  const command = CLI_COMMANDS[contract.id]
  return [
    '```sh',
    curlOf(method),
    '```',
    ...(command === undefined ? [] : ['```sh', command, '```']),
    '```ts',
    loop
      ? `for await (const { event, data } of client.${resource}.${name}(${typescript})) console.log(event, data)`
      : `await client.${resource}.${name}(${typescript})`,
    '```',
    '```python',
    loop
      ? `for event in client.${resource}.${snake(name)}(${given.join(', ')}): print(event)`
      : `client.${resource}.${snake(name)}(${typescript})`,
    '```',
  ].join('\n')
}

const codeList = (values: readonly string[]): string => values.map((value) => `\`${value}\``).join(', ')

function documentOf(resource: string, methods: readonly Method[]): string {
  const parts = methods.map((method) => {
    const { contract, query, replies } = method
    const { scope, alsoScopes = [] } = contract
    const answers = Object.keys(contract.responses)
    return [
      `## ${contract.method} ${contract.path.replaceAll(/:(\w+)/g, '{$1}')}`,
      `${contract.summary}.`,
      [
        `- scope: ${scope === null && alsoScopes.length === 0 ? 'any' : codeList([...(scope === null ? [] : [scope]), ...alsoScopes])}`,
        ...(query.length > 0 ? [`- query: ${codeList(query.map(({ name, required }) => `${name}${required ? '' : '?'}`))}`] : []),
        ...(answers.length > 0 ? [`- answers: ${codeList(answers)}${replies.length === 0 ? ', without a body' : ''}`] : []),
        ...(contract.events ? [`- events: ${codeList(Object.keys(contract.events))}`] : []),
        ...(contract.isIdempotent ? ['- takes `Idempotency-Key`'] : []),
      ].join('\n'),
      exampleOf(method),
    ].join('\n\n')
  })
  return [`# ${resource}`, 'Schemas of bodies and answers are in [openapi.json](../../openapi.json).', ...parts].join('\n\n')
}

/** A page for each resource. */
export function pagesOfApi(): Page[] {
  const byResource = Map.groupBy(describeApi().methods, ({ resource }) => resource)
  return [...byResource].map(([resource, methods]) => ({
    source: `api/${resource}.md`,
    path: `api/${resource}.html`,
    title: resource,
    group: 'API',
    markdown: documentOf(resource, methods),
  }))
}
