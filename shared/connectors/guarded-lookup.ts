/**
 * Decides which addresses connectors may reach. The check is in the resolver that the connection itself uses, so that the address checked
 * is the address connected to. A name with several addresses is refused if any of them is not public.
 */
import { lookup, type LookupAddress, type LookupOptions } from 'node:dns'
import { BlockList, isIP } from 'node:net'

/** IANA special-purpose registries (RFC 6890 and its successors): loopback, private, link-local, shared, documentation, multicast. */
const BLOCKED_V4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
] as const
/** The same registries, including ranges that embed an IPv4 address (mapped, NAT64, 6to4, Teredo). */
const BLOCKED_V6 = [
  '::/128',
  '::1/128',
  '::ffff:0:0/96',
  '64:ff9b::/96',
  '64:ff9b:1::/48',
  '100::/64',
  '2001::/23',
  '2001:db8::/32',
  '2002::/16',
  'fc00::/7',
  'fe80::/10',
  'ff00::/8',
] as const

// One list per family: in a shared list, the range of mapped addresses would match every IPv4 address.
const blockedV4 = new BlockList()
const blockedV6 = new BlockList()
for (const range of BLOCKED_V4) blockedV4.addSubnet(range.split('/')[0]!, Number(range.split('/')[1]), 'ipv4')
for (const range of BLOCKED_V6) blockedV6.addSubnet(range.split('/')[0]!, Number(range.split('/')[1]), 'ipv6')

/** Thrown for an address that is not public, before any connection is attempted. */
export class AddressRefused extends Error {
  readonly code = 'ADDRESS_REFUSED'
}

/** Returns whether the address is not public. Text that is not an IP address counts as private. */
export function isPrivateAddress(address: string): boolean {
  const family = isIP(address)
  if (family === 4) return blockedV4.check(address, 'ipv4')
  return family === 0 || blockedV6.check(address.split('%')[0]!, 'ipv6')
}

/** Throws AddressRefused when the host is a literal address that is not public. A resolver is never asked for literal addresses. */
export function assertPublicHost(host: string): void {
  const bare = host.startsWith('[') ? host.slice(1, -1) : host
  if (isIP(bare) !== 0 && isPrivateAddress(bare)) throw new AddressRefused(`the address ${bare} is not a public one`)
}

type Answer = (error: NodeJS.ErrnoException | null, address: string | LookupAddress[], family?: number) => void

/** Returns the address to connect to; a literal address resolves to itself. Throws AddressRefused when it is not public. */
export async function resolvePublicHost(host: string): Promise<string> {
  assertPublicHost(host)
  return new Promise((resolve, reject) => guardedLookup(host, {}, (error, address) => (error ? reject(error) : resolve(String(address)))))
}

/** Like `dns.lookup`, for `net.connect`; answers AddressRefused if any of the addresses is not public. */
export function guardedLookup(host: string, options: LookupOptions, answer: Answer): void {
  lookup(host, { ...options, all: true }, (error, addresses) => {
    if (error) return answer(error, [])
    const refused = addresses.find(({ address }) => isPrivateAddress(address))
    if (refused) return answer(new AddressRefused(`${host} resolves to ${refused.address}, which is not a public address`), [])
    if (options.all) return answer(null, addresses)
    const [first] = addresses
    if (!first) return answer(Object.assign(new Error(`${host} has no address`), { code: 'ENOTFOUND' }), [])
    answer(null, first.address, first.family)
  })
}
