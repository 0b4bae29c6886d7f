/** Which addresses connectors may reach, unless the operator allows more. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { addressGuardOf, addressesOf, AddressRefused, isPrivateAddress } from '../../shared/connectors/address-guard.ts'

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

/** Site-local, documentation, segment routing, IPv4 in its mapped, translated and compatible forms; Azure's own address. */
const BEYOND = ['fec0::1', '3fff::1', '5f00::1', '::ffff:8.8.8.8', '::ffff:0:8.8.8.8', '::8.8.8.8', '4000::1', '168.63.129.16']

describe('an address', () => {
  it('is public or private as the IANA registries say', () => {
    for (const address of PUBLIC) expect([address, isPrivateAddress(address)]).toEqual([address, false])
    for (const address of PRIVATE) expect([address, isPrivateAddress(address)]).toEqual([address, true])
    for (const address of ['::', '::1', 'fe80::1', 'fe80::1%eth0', 'fd00::1', 'ff02::1', '64:ff9b::7f00:1', '2002:7f00:1::', ...BEYOND])
      expect([address, isPrivateAddress(address)]).toEqual([address, true])
  })

  it('counts as private when it maps IPv4 into IPv6', () => {
    fc.assert(fc.property(fc.tuple(fc.nat(255), fc.nat(255), fc.nat(255), fc.nat(255)), (bytes) => isPrivateAddress(`::ffff:${v4(bytes)}`)))
  })

  it('is refused as a host before connecting when it is private', async () => {
    const guard = addressGuardOf({ allowed: [], own: [] })!
    expect(() => guard.assertHost('127.0.0.1')).toThrow(AddressRefused)
    expect(() => guard.assertHost('[::1]')).toThrow(AddressRefused)
    expect(() => guard.assertHost('example.com')).not.toThrow()
    expect(() => guard.assertHost('1.1.1.1')).not.toThrow()
    await expect(guard.resolve('localhost')).rejects.toThrow(AddressRefused)
  })

  it('is allowed within the operator’s ranges, but never when it is the service’s own', async () => {
    const guard = addressGuardOf({ allowed: ['10.20.0.0/16', '127.0.0.0/8', 'fd00::/8'], own: ['10.20.0.7', '8.8.8.8', 'fd00::7'] })!
    const refused = (address: string) => [address, guard.isRefused(address)]
    for (const address of ['10.20.0.6', '10.20.255.255', 'fd00::6', '1.1.1.1']) expect(refused(address)).toEqual([address, false])
    for (const address of ['10.21.0.1', '10.20.0.7', '8.8.8.8', 'fd00::7', 'fe80::1', '::ffff:10.20.0.6'])
      expect(refused(address)).toEqual([address, true])
    const all = addressGuardOf({ allowed: ['0.0.0.0/0', '::/0'], own: ['10.20.0.7'] })!
    for (const address of ['10.20.0.7', '::ffff:10.20.0.7', '::ffff:a14:7'])
      expect([address, all.isRefused(address)]).toEqual([address, true])
    expect(await guard.resolve('127.0.0.1')).toBe('127.0.0.1')
  })

  it('of any kind is allowed where the operator allows all', () => {
    expect(addressGuardOf('any')).toBeUndefined()
  })
})

it('finds the addresses of the service’s own hosts, and says which has none', async () => {
  const unknown: string[] = []
  const found = await addressesOf(['127.0.0.1', '[::1]', 'no-such-host.invalid'], (host) => unknown.push(host))
  expect([found, unknown]).toEqual([['127.0.0.1', '::1'], ['no-such-host.invalid']])
})
