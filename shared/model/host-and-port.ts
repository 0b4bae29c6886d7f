/** Addresses as settings and configs have them: `host:port`, an IPv6 address in brackets. */

/** Takes `host:port` apart; the brackets of an IPv6 address are off, as what connects wants it. */
export function hostAndPort(text: string): { host: string; port: number } {
  const at = text.lastIndexOf(':')
  return { host: text.slice(0, at).replace(/^\[(.*)\]$/, '$1'), port: Number(text.slice(at + 1)) }
}
