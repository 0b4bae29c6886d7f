/** Writes docs/connectors.md from the catalogue: `make docs`. */
import { z } from 'zod'
import { CONNECTORS } from '../shared/connectors/catalogue.ts'
import { kindOf } from '../shared/connectors/connector.ts'
import { writePage } from './write-page.ts'

type Schema = {
  type?: string
  enum?: unknown[]
  const?: unknown
  anyOf?: Schema[]
  oneOf?: Schema[]
  items?: Schema
  properties?: Record<string, Schema>
  required?: string[]
  description?: string
  default?: unknown
  examples?: unknown[]
  writeOnly?: boolean
}

function typeOf(schema: Schema): string {
  if (schema.writeOnly) return 'secret'
  if (schema.enum) return schema.enum.map((value) => `\`${String(value)}\``).join(' ')
  if (schema.const !== undefined) return `\`${String(schema.const)}\``
  const alternatives = schema.oneOf ?? schema.anyOf
  if (alternatives) return alternatives.map(typeOf).join(' or ')
  if (schema.type === 'array') return `array of ${typeOf(schema.items ?? {})}`
  if (schema.type === 'object' && schema.properties)
    return `{${Object.entries(schema.properties)
      .map(([name, member]) => `${name}: ${typeOf(member)}`)
      .join(', ')}}`
  return schema.type ?? 'any'
}

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ')

function tableOf(config: z.ZodObject): string {
  const schema = z.toJSONSchema(config, { io: 'input' }) as Schema
  const rows = Object.entries(schema.properties ?? {}).map(([name, member]) => {
    const fallback = member.default === undefined ? '' : `; default \`${JSON.stringify(member.default)}\``
    const needed = schema.required?.includes(name) ? 'required' : `optional${fallback}`
    const example = member.examples ? `; for example \`${JSON.stringify(member.examples[0])}\`` : ''
    return `| \`${name}\` | ${cell(typeOf(member))} | ${cell(`${needed}${example}`)} | ${cell(member.description ?? '')} |`
  })
  if (rows.length === 0) return 'No members.\n'
  return `| member | type | | meaning |\n|---|---|---|---|\n${rows.join('\n')}\n`
}

const parts: string[] = []
for (const connector of CONNECTORS) {
  const { id, name, description, version, source, sink } = connector
  parts.push(
    `## ${name}\n\n\`${id}\`, ${kindOf(connector)}, version ${version}. ${description} [More](../shared/connectors/${name}/README.md)\n`,
  )
  if (source) parts.push(`### ${name} as a source\n\n${tableOf(source.config)}`)
  if (sink) parts.push(`### ${name} as a sink\n\n${tableOf(sink.config)}`)
}
const text = `# Connectors

Written by \`make docs\` from the connectors' own schemas. A secret is named as \`{"$secret": "name"}\`
(\`POST /secrets\`), never written out. [A connector of your own](connectors-writing.md).

${parts.join('\n')}`
await writePage('connectors.md', text)
