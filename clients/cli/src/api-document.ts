/** Operations of the HTTP API, as its OpenAPI document describes them. */
import { z } from 'zod'

const Document = z.object({
  paths: z.record(z.string(), z.record(z.string(), z.looseObject({ operationId: z.string(), summary: z.string() }))),
  components: z.record(z.string(), z.record(z.string(), z.unknown())),
})
type Components = z.output<typeof Document>['components']

const REFERENCE = /^#\/components\/([^/]+)\/([^/]+)$/

/** Copies what a value refers to, and what that refers to in turn, from the components of the document. */
function addReferred(value: unknown, from: Components, into: Components): void {
  if (typeof value !== 'object' || value === null) return
  for (const [name, member] of Object.entries(value)) {
    const [, kind, key] = (name === '$ref' && typeof member === 'string' && REFERENCE.exec(member)) || []
    if (kind === undefined || key === undefined) {
      addReferred(member, from, into)
      continue
    }
    const known = (into[kind] ??= {})
    if (Object.hasOwn(known, key)) continue
    known[key] = from[kind]?.[key]
    addReferred(known[key], from, into)
  }
}

/** A line for each operation of the document, or the one that is `wanted`, with all that it refers to. */
export function operationsIn(document: unknown, wanted: string | undefined): unknown {
  const { paths, components } = Document.parse(document)
  const all = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, ...operation })),
  )
  if (wanted === undefined) return all.map(({ method, path, operationId, summary }) => `${operationId}: ${method} ${path}: ${summary}`)
  const found = all.find(({ operationId }) => operationId === wanted)
  if (!found) return { error: `there is no operation ${wanted}` }
  const referred: Components = {}
  addReferred(found, components, referred)
  return { ...found, components: referred }
}
