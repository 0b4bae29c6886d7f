/** Addresses of brokers: an IPv6 address has brackets, which no connection and no TLS server name may have. */
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { networkInterfaces } from 'node:os'
import { describe, expect, it } from 'vitest'
import { openKafkaSecurity } from '../../shared/kafka/admin/security.ts'
import { openBrokers } from '../../shared/kafka/brokers.ts'
import { hostAndPort } from '../../shared/model/host-and-port.ts'

describe('host:port', () => {
  it.each([
    ['kafka.example.com:9092', 'kafka.example.com', 9092],
    ['127.0.0.1:1', '127.0.0.1', 1],
    ['[2001:db8::1]:9092', '2001:db8::1', 9092],
  ])('is taken apart: %s', (text, host, port) => expect(hostAndPort(text)).toEqual({ host, port }))

  const hasIpv6 = Object.values(networkInterfaces()).some((addresses) => addresses?.some(({ address }) => address === '::1'))
  it.runIf(hasIpv6)('with an IPv6 address is connected to', { timeout: 60_000 }, async () => {
    const server = createServer((socket) => socket.destroy())
    server.listen(0, '::1')
    await once(server, 'listening')
    const met = once(server, 'connection')
    const { port } = server.address() as AddressInfo
    const brokers = openBrokers({ brokers: [`[::1]:${port}`], clientId: 'test' })
    await Promise.allSettled([brokers.anyBroker(), met])
    await brokers.close().catch(() => {})
    server.close()
  })

  it('with an IP address has no TLS server name', () => {
    const nameOf = (broker: string) => openKafkaSecurity({ tls: true }, [broker]).connection.tlsServerName
    expect([nameOf('[::1]:9092'), nameOf('127.0.0.1:9092'), nameOf('kafka:9092')]).toEqual([false, false, true])
  })
})
