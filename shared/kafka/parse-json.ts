/** Values of the service's own topics: what can't be parsed is left to the schema, which refuses undefined. */

/** The JSON value of a record; null for a tombstone, undefined for what is not JSON. */
export function parseJson(value: Buffer | null): unknown {
  try {
    return value && JSON.parse(value.toString('utf8'))
  } catch {
    return undefined
  }
}
