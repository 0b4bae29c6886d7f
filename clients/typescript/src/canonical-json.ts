/** JSON by which two values are compared. */
import { ExactNumber, parseJson, writeJson } from './core/exact-json.ts'

/** The value as JSON, members in the order of their names: their order is no difference, nor are 12.5 and 12.50. */
export const canonicalJson = (value: unknown): string => writeJson(inOrder(value))

const inOrder = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(inOrder)
  if (value instanceof ExactNumber) return parseJson(value.text)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, each]) => [name, inOrder(each)]),
  )
}
