/** JSON whose numbers are not rounded: JavaScript holds integers up to 2^53, and no decimal as it is written. */

const { rawJSON, isRawJSON } = JSON as unknown as {
  rawJSON(source: string): object
  isRawJSON(value: unknown): value is { rawJSON: string }
}

export { isRawJSON }

/** The document; numbers that are no safe integers are kept as they are written, and `JSON.stringify` prints them so. */
export function parseExactly(text: string): unknown {
  const keep = (_name: string, value: unknown, context?: { source?: string }): unknown =>
    typeof value === 'number' && !Number.isSafeInteger(value) && context?.source !== undefined ? rawJSON(context.source) : value
  return JSON.parse(text, keep)
}
