/**
 * Decides which addresses connectors may reach. The check is in the resolver that the connection itself uses, so that the address checked
 * is the address connected to. A name with several addresses is refused if any of them is refused.
 */
import { lookup, type LookupAddress, type LookupOptions } from 'node:dns'
import { BlockList, isIP } from 'node:net'
import { z } from 'zod'

/**
 * `any`: every address, for a stack on one machine. Otherwise public addresses and those in `allowed` (CIDR ranges), but never the
 * service's `own` addresses.
 */
export const AddressRules = z.union([z.literal('any'), z.object({ allowed: z.array(z.string()), own: z.array(z.string()) })])
/** Validated rules. */
export type AddressRules = z.infer<typeof AddressRules>

/**
 * IANA special-purpose registries (RFC 6890 and its successors): loopback, private, link-local, shared, documentation, multicast. With the
 * address at which Azure answers its machines.
 */
const REFUSED_V4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '168.63.129.16/32',
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
]
/** Global unicast (RFC 4291 §2.4); all other IPv6 addresses are refused, among them those that map or translate IPv4. */
const GLOBAL_V6 = ['2000::/3']
/** What is special within it: 6to4, Teredo, documentation (RFC 3849, RFC 9637), benchmarking. */
const REFUSED_V6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20']

// One list per family: in a shared list, the range of mapped addresses would match every IPv4 address.
function listOf(ranges: readonly string[], family: 'ipv4' | 'ipv6'): BlockList {
  const list = new BlockList()
  for (const range of ranges) {
    const [address = '', bits] = range.split('/')
    if (isIP(address) === (family === 'ipv4' ? 4 : 6)) list.addSubnet(address, Number(bits ?? (family === 'ipv4' ? 32 : 128)), family)
  }
  return list
}

/** Returns whether an address is in one of the CIDR ranges. */
export function openRanges(ranges: readonly string[]): (address: string) => boolean {
  const [v4, v6] = [listOf(ranges, 'ipv4'), listOf(ranges, 'ipv6')]
  return (address) => (isIP(address) === 4 ? v4.check(address, 'ipv4') : isIP(address) === 6 && v6.check(address, 'ipv6'))
}

const refusedV4 = listOf(REFUSED_V4, 'ipv4')
const globalV6 = listOf(GLOBAL_V6, 'ipv6')
const refusedV6 = listOf(REFUSED_V6, 'ipv6')

/** Thrown for an address that connectors may not reach, before any connection is attempted. */
export class AddressRefused extends Error {
  readonly code = 'ADDRESS_REFUSED'
}

/** Returns whether the address is not public. Text that is not an IP address counts as private. */
export function isPrivateAddress(address: string): boolean {
  const family = isIP(address)
  if (family === 4) return refusedV4.check(address, 'ipv4')
  const bare = address.split('%')[0]!
  return family === 0 || !globalV6.check(bare, 'ipv6') || refusedV6.check(bare, 'ipv6')
}

type Answer = (error: NodeJS.ErrnoException | null, address: string | LookupAddress[], family?: number) => void

/** What a connector asks before it connects. */
export type AddressGuard = {
  isRefused(address: string): boolean
  /** Throws AddressRefused when the host is a literal address that is refused. A resolver is never asked for literal addresses. */
  assertHost(host: string): void
  /** Returns the address to connect to; a literal address resolves to itself. Throws AddressRefused when it is refused. */
  resolve(host: string): Promise<string>
  /** Like `dns.lookup`, for `net.connect`; answers AddressRefused if any of the addresses is refused. */
  lookup(host: string, options: LookupOptions, answer: Answer): void
}

/** The guard of these rules; undefined where every address is allowed. */
export function addressGuardOf(rules: AddressRules): AddressGuard | undefined {
  if (rules === 'any') return undefined
  const { allowed, own } = rules
  // An IPv4 address is the same one in its mapped form (RFC 4291 §2.5.5.2).
  const mapped = own.filter((address) => isIP(address) === 4).map((address) => `::ffff:${address}`)
  const lists = {
    ipv4: [listOf(own, 'ipv4'), listOf(allowed, 'ipv4')],
    ipv6: [listOf([...own, ...mapped], 'ipv6'), listOf(allowed, 'ipv6')],
  } as const

  function isRefused(address: string): boolean {
    const family = isIP(address) === 4 ? 'ipv4' : 'ipv6'
    const bare = address.split('%')[0]!
    if (isIP(bare) === 0) return true
    const [ownList, allowedList] = lists[family]
    return ownList.check(bare, family) || (!allowedList.check(bare, family) && isPrivateAddress(address))
  }
  function assertHost(host: string): void {
    const bare = host.startsWith('[') ? host.slice(1, -1) : host
    if (isIP(bare) !== 0 && isRefused(bare)) throw new AddressRefused(`the address ${bare} is not one that connectors may reach`)
  }
  function guardedLookup(host: string, options: LookupOptions, answer: Answer): void {
    lookup(host, { ...options, all: true }, (error, addresses) => {
      if (error) return answer(error, [])
      const refused = addresses.find(({ address }) => isRefused(address))
      if (refused)
        return answer(new AddressRefused(`${host} resolves to ${refused.address}, which is not an address that connectors may reach`), [])
      if (options.all) return answer(null, addresses)
      const [first] = addresses
      if (!first) return answer(Object.assign(new Error(`${host} has no address`), { code: 'ENOTFOUND' }), [])
      answer(null, first.address, first.family)
    })
  }
  return {
    isRefused,
    assertHost,
    lookup: guardedLookup,
    async resolve(host) {
      assertHost(host)
      return new Promise((resolve, reject) =>
        guardedLookup(host, {}, (error, address) => (error ? reject(error) : resolve(String(address)))),
      )
    },
  }
}

/** The addresses of hosts that are the service's own; a host that does not resolve has none, and is passed to `onUnknown`. */
export async function addressesOf(hosts: readonly string[], onUnknown: (host: string) => void): Promise<string[]> {
  const found = await Promise.all(
    [...new Set(hosts)].map(
      (host) =>
        new Promise<string[]>((resolve) =>
          lookup(host.replace(/^\[|\]$/g, ''), { all: true }, (error, addresses) => {
            if (error) onUnknown(host)
            resolve(error ? [] : addresses.map(({ address }) => address))
          }),
        ),
    ),
  )
  return [...new Set(found.flat())]
}

/** The operator's rules, with the addresses of the service's own hosts as they are now: one that moves needs a restart. */
export async function addressRulesOf(
  allowed: 'any' | string[],
  ownHosts: readonly string[],
  log: { warn(fields: object, message: string): void },
): Promise<AddressRules> {
  const warn = (host: string) => log.warn({ host }, 'a host of the service’s own has no address: connectors are not kept from it')
  return allowed === 'any' ? 'any' : { allowed, own: await addressesOf(ownHosts, warn) }
}
