/** Whose address counts, behind load balancers that are trusted and in front of clients that write headers themselves. */
import type { IncomingMessage } from 'node:http'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createClientAddress } from '../../services/control-plane/middleware/client-address.ts'

const request = (remoteAddress: string, forwarded?: string): IncomingMessage =>
  ({ socket: { remoteAddress }, headers: forwarded === undefined ? {} : { 'x-forwarded-for': forwarded } }) as unknown as IncomingMessage

describe('the client’s address', () => {
  const addressOf = createClientAddress(['10.0.0.0/8', 'fd00::/8', '192.0.2.7'])

  it.each([
    ['203.0.113.5', undefined, '203.0.113.5'],
    // Only a trusted proxy is believed.
    ['203.0.113.5', '198.51.100.1', '203.0.113.5'],
    ['10.1.2.3', '198.51.100.1', '198.51.100.1'],
    ['::ffff:10.1.2.3', '198.51.100.1', '198.51.100.1'],
    // What the client wrote stands before what the proxy added.
    ['10.1.2.3', '127.0.0.1, 198.51.100.1', '198.51.100.1'],
    ['10.1.2.3', '198.51.100.1, 10.9.9.9', '198.51.100.1'],
    ['fd00::1', '2001:db8::5, 192.0.2.7', '2001:db8::5'],
    ['10.1.2.3', 'unknown', '10.1.2.3'],
    ['10.1.2.3', 'x, 10.4.4.4', '10.4.4.4'],
    ['10.1.2.3', undefined, '10.1.2.3'],
    ['10.1.2.3', '10.4.4.4', '10.4.4.4'],
  ])('of %s with X-Forwarded-For %s is %s', (remote, forwarded, expected) => {
    expect(addressOf(request(remote, forwarded))).toBe(expected)
  })

  it('is the socket’s own, whatever a client writes, where no proxy is trusted', () => {
    const trusting = createClientAddress([])
    fc.assert(fc.property(fc.ipV4(), fc.string(), (remote, forwarded) => trusting(request(remote, forwarded)) === remote))
  })

  it('never is one that stands before an address which is no proxy’s', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.ipV4(), fc.ipV6(), fc.string())), fc.ipV4(), (forged, client) => {
        fc.pre(!client.startsWith('10.') && client !== '192.0.2.7')
        expect(addressOf(request('10.0.0.1', [...forged, client, '10.0.0.2'].join(',')))).toBe(client)
      }),
    )
  })
})
