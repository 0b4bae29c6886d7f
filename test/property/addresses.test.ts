/** Which addresses connectors may reach, unless the operator allows more. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { assertPublicHost, isPrivateAddress } from '../../shared/connectors/guarded-lookup.ts'

const v4 = (bytes: number[]) => bytes.join('.')
const PRIVATE = [
  '0.0.0.0',
  '10.1.2.3',
  '100.64.0.1',
  '127.0.0.1',
  '169.254.169.254',
  '172.16.0.1',
  '172.31.255.255',
  '192.168.1.1',
  '198.18.0.1',
  '224.0.0.1',
  '255.255.255.255',
]
const PUBLIC = [
  '1.1.1.1',
  '8.8.8.8',
  '93.184.216.34',
  '100.63.255.255',
  '172.32.0.1',
  '192.167.1.1',
  '2606:4700::1111',
  '2a00:1450:4001::1',
]

describe('an address', () => {
  it('is public or private as the IANA registries say', () => {
    for (const address of PUBLIC) expect([address, isPrivateAddress(address)]).toEqual([address, false])
    for (const address of PRIVATE) expect([address, isPrivateAddress(address)]).toEqual([address, true])
    for (const address of ['::', '::1', 'fe80::1', 'fe80::1%eth0', 'fd00::1', 'ff02::1', '64:ff9b::7f00:1', '2002:7f00:1::'])
      expect([address, isPrivateAddress(address)]).toEqual([address, true])
  })

  it('counts as private when it maps IPv4 into IPv6', () => {
    fc.assert(fc.property(fc.tuple(fc.nat(255), fc.nat(255), fc.nat(255), fc.nat(255)), (bytes) => isPrivateAddress(`::ffff:${v4(bytes)}`)))
  })

  it('is refused as a host before connecting when it is private', () => {
    expect(() => assertPublicHost('127.0.0.1')).toThrow('not a public one')
    expect(() => assertPublicHost('[::1]')).toThrow('not a public one')
    expect(() => assertPublicHost('example.com')).not.toThrow()
    expect(() => assertPublicHost('1.1.1.1')).not.toThrow()
  })
})
