/** A connection to somebody else's cluster: with the account's secrets, and to no address that the operator does not allow. */
import { isIP } from 'node:net'
import { openCluster, type Cluster, type TopicLayout } from '../../kafka/cluster.ts'
import type { CheckConnector } from '../check.ts'
import { ConfigRefused, type ConnectorContext } from '../connector.ts'
import { checkRegistry } from './other-registry.ts'
import { assertPublicHost, guardedLookup, resolvePublicHost } from '../guarded-lookup.ts'
import type { KafkaSinkConfig } from './connector.ts'

type Place = Pick<KafkaSinkConfig, 'brokers' | 'topic' | 'tls' | 'sasl' | 'registry' | 'schema_id'>

export function openOtherCluster({ brokers, tls, sasl }: Place, context: ConnectorContext): Cluster {
  const allowsPrivate = context.defaults.allow_private_addresses
  const hasNames = brokers.some((broker) => isIP(broker.slice(0, broker.lastIndexOf(':')).replaceAll(/[[\]]/g, '')) === 0)
  // TLS connections take the resolver; plain ones go to the address that was looked at.
  const guard = allowsPrivate ? {} : { lookup: guardedLookup }
  return openCluster({
    brokers,
    clientId: `dps-${context.runId}`,
    now: context.now,
    connection: {
      ...(tls ? { tls: { ca: tls.ca, ...guard }, tlsServerName: hasNames } : {}),
      ...(sasl ? { sasl: { mechanism: sasl.mechanism, username: sasl.username, password: context.secret(sasl.password) } } : {}),
    },
    ...(allowsPrivate ? {} : { resolveHost: tls ? checkedHost : resolvePublicHost }),
  })
}

/** The name stays: certificates are made out to it. */
async function checkedHost(host: string): Promise<string> {
  assertPublicHost(host)
  return host
}

/** Throws ConfigRefused for a topic that is not there. */
export async function layoutOfTopic(cluster: Cluster, topic: string): Promise<TopicLayout> {
  const layout = await cluster.describeTopic(topic)
  if (!layout) throw new ConfigRefused(`the other cluster has no topic ${topic}`)
  return layout
}

export const checkOtherCluster: CheckConnector<Place> = async (config, context, signal) => {
  const cluster = openOtherCluster(config, context)
  try {
    const faults = await checkRegistry(config, context, signal)
    return (await cluster.describeTopic(config.topic)) ? faults : [...faults, { path: '/topic', message: 'does not exist' }]
  } catch (error) {
    return [{ path: '/brokers', message: `can't be reached: ${context.mask(error instanceof Error ? error.message : String(error))}` }]
  } finally {
    await cluster.close().catch(() => {})
  }
}
