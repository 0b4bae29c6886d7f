/** The address that a request came from, behind proxies that the operator trusts. */
import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import { openRanges } from '../../../shared/connectors/address-guard.ts'

/** Of the form that IPv4 has on an IPv6 socket (RFC 4291 §2.5.5.2). */
const MAPPED = /^::ffff:(?=\d+\.)/i

/** The address, in the same form whichever kind of socket it came by. */
export const plainAddress = (address: string): string => address.trim().replace(MAPPED, '')

/**
 * Returns a function for the client's address: the last one of X-Forwarded-For that is not a trusted proxy's own. What a client itself
 * wrote into that header stands before it, and is not believed.
 */
export function createClientAddress(trustedProxies: readonly string[]): (request: IncomingMessage) => string {
  const isTrusted = openRanges(trustedProxies)

  return ({ socket, headers }) => {
    let address = plainAddress(socket.remoteAddress ?? '')
    const forwarded = [headers['x-forwarded-for'] ?? []].flat().join(',').split(',').map(plainAddress)
    while (isTrusted(address)) {
      const next = forwarded.pop()
      if (next === undefined || isIP(next) === 0) break
      address = next
    }
    return address
  }
}
