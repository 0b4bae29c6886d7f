/** JSON pointers (RFC 6901). */

/** The path as a pointer below `root`. */
export function pointer(path: readonly PropertyKey[], root = ''): string {
  return path.reduce<string>((text, part) => `${text}/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`, root)
}
