/** JSON pointers (RFC 6901). */

/** The name as a part of a pointer. */
export const asPart = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1')

/** The names in a pointer, from the outermost one. */
export const namesIn = (pointer: string): string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
