/** The operator's TLS and SASL settings, translated for both Kafka clients: the data plane's and kafkajs. */
import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import type { ConnectionOptions as TlsOptions } from 'node:tls'
import type { ConnectionOptions } from '../client-library.ts'
import type { SASLOptions } from 'kafkajs'
import { hostAndPort } from '../../model/host-and-port.ts'

/** Supported SASL mechanisms, named as in the configuration. */
const SASL_MECHANISMS = ['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512'] as const

/** The operator's settings; the files are PEM files by path, `sasl` is absent when the brokers require none. */
export type KafkaSecuritySettings = {
  tls: boolean
  caFile?: string
  certFile?: string
  keyFile?: string
  sasl?: { mechanism: (typeof SASL_MECHANISMS)[number]; username: string; password: string }
}

/** Options for both clients: `connection` for `openCluster`, `kafkajs` for `createKafka`. */
export type KafkaSecurity = { connection: ConnectionOptions; kafkajs: { ssl?: TlsOptions; sasl?: SASLOptions } }

/** Options for both clients, with the PEM files read once, at start. Throws naming a file that can't be read. */
export function openKafkaSecurity(settings: KafkaSecuritySettings, brokers: readonly string[]): KafkaSecurity {
  const pem = (file: string | undefined) => (file === undefined ? undefined : readFileSync(file, 'utf8'))
  const tls = settings.tls ? { ca: pem(settings.caFile), cert: pem(settings.certFile), key: pem(settings.keyFile) } : undefined
  const { sasl } = settings
  return {
    connection: {
      // TLS server names are host names (RFC 6066 §3): none is sent when all brokers are given as IP addresses.
      ...(tls ? { tls, tlsServerName: brokers.some((broker) => isIP(hostAndPort(broker).host) === 0) } : {}),
      ...(sasl ? { sasl: { mechanism: sasl.mechanism, username: sasl.username, password: sasl.password } } : {}),
    },
    kafkajs: {
      ...(tls ? { ssl: tls } : {}),
      ...(sasl
        ? {
            sasl: {
              mechanism: sasl.mechanism.toLowerCase() as 'plain',
              username: sasl.username,
              password: sasl.password,
            },
          }
        : {}),
    },
  }
}
