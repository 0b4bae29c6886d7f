/** The Python client's types and resources, as source text. */
import type { Api, JsonSchema, Method } from './document.ts'

const named = (ref: string): string => ref.split('/').at(-1) ?? ''
const snake = (name: string): string => name.replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2').toLowerCase()
const pascal = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1)
const KEYWORDS = new Set([
  'from',
  'import',
  'class',
  'global',
  'with',
  'not',
  'is',
  'in',
  'as',
  'if',
  'else',
  'or',
  'and',
  'pass',
  'def',
  'id',
  'type',
])
const word = (name: string): string => (KEYWORDS.has(name) ? `${name}_` : name)
const literal = (value: unknown): string =>
  value === true ? 'True' : value === false ? 'False' : value === null ? 'None' : JSON.stringify(value)

/** A JSON Schema as a Python type; `scope` stands before the names of other schemas. Objects without a name are dicts. */
function typeOf(schema: JsonSchema, scope: string): string {
  const { $ref, enum: values, const: constant, anyOf, oneOf, allOf, type } = schema
  if ($ref !== undefined) return `${scope}${named($ref)}`
  if (constant !== undefined) return `Literal[${literal(constant)}]`
  if (values) return `Literal[${values.map(literal).join(', ')}]`
  const either = anyOf ?? oneOf
  if (either) return unionOf(either.map((each) => typeOf(each, scope)))
  if (allOf) return 'dict[str, Any]'
  if (Array.isArray(type)) return unionOf(type.map((each) => typeOf({ ...schema, type: each }, scope)))
  switch (type) {
    case 'string':
      return 'str'
    case 'boolean':
      return 'bool'
    case 'null':
      return 'None'
    case 'integer':
      return 'int'
    case 'number':
      return 'float'
    case 'array':
      return `List[${schema.items ? typeOf(schema.items, scope) : 'Any'}]`
    case 'object':
      return 'dict[str, Any]'
    default:
      return 'Any'
  }
}

function unionOf(types: string[]): string {
  const distinct = [...new Set(types)]
  return distinct.includes('Any') ? 'Any' : distinct.length === 1 ? distinct[0]! : `Union[${distinct.join(', ')}]`
}

const HEADER = (about: string): string => `# Generated from the contracts in shared/api by \`make clients\`. Changes belong there.
"""${about}"""

`

/** One of several answers is final: type checkers then know by a member which one it is. */
function declaration(name: string, schema: JsonSchema, isFinal: boolean): string {
  const { properties, required = [] } = schema
  if (schema.type !== 'object' || !properties || Object.keys(properties).length === 0) return `${name} = ${quoted(typeOf(schema, ''))}\n`
  const members = Object.entries(properties).map(([member, each]) => {
    const type = typeOf(each, '')
    if (isFinal) return `    ${member}: ${JSON.stringify(required.includes(member) ? type : `NotRequired[${type}]`)}\n`
    return `    ${JSON.stringify(member)}: ${JSON.stringify(required.includes(member) ? type : `NotRequired[${type}]`)},\n`
  })
  if (isFinal) return `@final\nclass ${name}(TypedDict):\n${members.join('')}`
  return `${name} = TypedDict("${name}", {\n${members.join('')}})\n`
}

/** Names of other types as text: they may come later. */
const quoted = (type: string): string =>
  type.replaceAll(/"[^"]*"|\b[A-Z]\w*\b/g, (each) =>
    each.startsWith('"') || ['Any', 'Union', 'Literal', 'List', 'None', 'True', 'False'].includes(each) ? each : `"${each}"`,
  )

/** All schemas as types. */
export function typesModule({ schemas, methods }: Api): string {
  const alternatives = new Set(
    methods.flatMap(({ replies }) => {
      const distinct = new Set(replies.map(({ $ref }) => named($ref ?? '')))
      return distinct.size > 1 ? [...distinct] : []
    }),
  )
  const types = Object.entries(schemas).map(([name, schema]) => declaration(name, schema, alternatives.has(name)))
  return `${HEADER('What the service takes and answers.')}from typing import Any, List, Literal, NotRequired, TypedDict, Union, final

${types.join('\n')}`
}

const pathNames = (path: string): string[] => [...path.matchAll(/:(\w+)/g)].map(([, name]) => name!)
const pathText = (path: string): string => {
  const filled = path.replaceAll(/:(\w+)/g, (_, name: string) => `{segment(${word(name)})}`)
  return `${filled === path ? '' : 'f'}"${filled}"`
}

function signatureOf({ contract, body, query }: Method, more: string[]): string {
  const keyed = [
    ...query
      .filter(({ name }) => !(contract.events && name === 'follow'))
      .map(({ name, required, schema }) => {
        const type = typeOf(schema, 'types.')
        return required ? `${word(name)}: ${type}` : `${word(name)}: Union[${type}, None] = None`
      }),
    ...more,
  ]
  return [
    'self',
    ...pathNames(contract.path).map((name) => `${word(name)}: str`),
    ...(body ? [`body: ${typeOf(body.schema, 'types.')}${body.required ? '' : ' | None = None'}`] : []),
    ...(keyed.length > 0 ? ['*', ...keyed] : []),
  ].join(', ')
}

const queryText = ({ query, contract }: Method, fixed: string[] = []): string => {
  const given = query
    .filter(({ name }) => !(contract.events && name === 'follow'))
    .map(({ name }) => `${JSON.stringify(name)}: ${word(name)}`)
  return `{${[...given, ...fixed].join(', ')}}`
}

function callOf(method: Method): string {
  const { contract, body, query, replies, name, mayBeEmpty } = method
  const hasKey = contract.isIdempotent && !contract.secretMembers
  const types = [...replies.map((each) => typeOf(each, 'types.')), ...(mayBeEmpty || replies.length === 0 ? ['None'] : [])]
  const options = [
    ...(query.length > 0 ? [`query=${queryText(method)}`] : []),
    ...(body ? ['body=body'] : []),
    ...(contract.isRead ? ['is_read=True'] : []),
    ...(hasKey ? ['is_idempotent=True, idempotency_key=idempotency_key'] : []),
    ...(contract.isConditional ? ['if_match=if_match'] : []),
    ...(contract.isTagged ? ['on_tag=on_tag'] : []),
  ]
  const more = [
    ...(hasKey ? ['idempotency_key: str | None = None'] : []),
    ...(contract.isConditional ? ['if_match: str | None = None'] : []),
    ...(contract.isTagged ? ['on_tag: Callable[[str], object] | None = None'] : []),
  ]
  const reply = unionOf(types)
  const call = `self._transport.call(${[`"${contract.method}"`, pathText(contract.path), ...options].join(', ')})`
  return `    def ${word(snake(name))}(${signatureOf(method, more)}) -> ${reply}:
        """${contract.summary}."""
        ${reply === 'None' ? call : `return cast(${JSON.stringify(reply)}, ${call})`}
`
}

/** All items of a list, beside its pages. */
function allOf(method: Method): string[] {
  const { pages, name } = method
  if (!pages) return []
  const paths = pathNames(method.contract.path).map(word)
  const query = method.query.filter((each) => !['page', 'cursor', 'page_size'].includes(each.name))
  const given = [...paths, ...query.map((each) => `${word(each.name)}=${word(each.name)}`), 'page_size=PAGE_SIZE', 'cursor=cursor']
  return [
    `    def ${snake(name.replace(/^list/, 'all'))}(${signatureOf({ ...method, query }, [])}) -> Iterator[${typeOf(pages.item, 'types.')}]:
        """Every item of \`${snake(name)}\`; fetches pages as they are needed."""
        return all_of(lambda cursor: self.${snake(name)}(${given.join(', ')}), ${JSON.stringify(pages.member)})
`,
  ]
}

function listenOf(method: Method): string {
  const hasReply = method.replies.length > 0
  const name = hasReply ? method.name.replace(/^get/, 'follow') : method.name
  const query = queryText(method, hasReply ? ['"follow": "true"'] : [])
  return `    def ${snake(name)}(${signatureOf(method, ['last_event_id: str | None = None'])}) -> Generator[Event, None, None]:
        """${method.contract.summary}."""
        return listen(self._transport, ${pathText(method.contract.path)}, ${query}, last_event_id)
`
}

/** The operations, a class for each resource. */
export function resourcesModule({ methods }: Api): string {
  const byResource = Map.groupBy(methods, ({ resource }) => resource)
  const classes = [...byResource].map(([resource, own]) => {
    const members = own.flatMap((method) => [
      ...(method.events && method.replies.length === 0 ? [] : [callOf(method)]),
      ...allOf(method),
      ...(method.events ? [listenOf(method)] : []),
    ])
    return `class ${pascal(resource)}:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport

${members.join('\n')}`
  })
  return `${HEADER('Every operation of the service, by resource.')}from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import Any, List, Literal, Union, cast

from .._events import Event, listen
from .._pages import PAGE_SIZE, all_of
from .._transport import Transport, segment
from . import types

${classes.join('\n\n')}

class Resources:
    """All of them."""

    def __init__(self, transport: Transport) -> None:
${[...byResource.keys()].map((resource) => `        self.${snake(resource)} = ${pascal(resource)}(transport)\n`).join('')}`
}
