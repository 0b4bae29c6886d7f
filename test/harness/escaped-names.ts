/**
 * Whether a member of the document has a name with an escape. V8 can misread such a name, by what it has parsed before
 * (nodejs/node#63785), so that `JSON.parse` is no witness of it.
 */
export const hasEscapedName = (json: string): boolean =>
  (json.match(/"(?:[^"\\]|\\[^])*"\s*:?/g) ?? []).some((text) => text.endsWith(':') && text.includes('\\'))
