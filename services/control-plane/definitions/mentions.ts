/** Which fields of a stream the config of a step or sink names: as a name, as the beginning of a path, or within a CEL expression. */

const escaped = (name: string): string => name.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`)

/** `value.field`, `value.?field` and `value["field"]`, and the field itself or a path that begins with it. */
const mentionOf = (field: string): RegExp => new RegExp(String.raw`(?:^|\bvalue\s*\.\s*\??|\bvalue\s*\[\s*["'])${escaped(field)}(?![\w])`)

/** Those of the fields that the config names, in any of its texts and member names; a text that only happens to be equal counts too. */
export function mentionedFields(config: unknown, fields: readonly string[]): string[] {
  const texts: string[] = []
  const open = [config]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (typeof next === 'string') texts.push(next)
    else if (typeof next === 'object' && next !== null) {
      if (!Array.isArray(next)) texts.push(...Object.keys(next))
      open.push(...Object.values(next).filter((each) => each !== undefined))
    }
  }
  return fields.filter((field) => {
    const mention = mentionOf(field)
    return texts.some((text) => mention.test(text))
  })
}
