/** Connects to another Kafka cluster, with the account's secrets, and only to addresses that the operator allows. */
import { reasonOf } from '../../errors/reason-of.ts'
import { isIP } from 'node:net'
import { openCluster, type Cluster, type TopicLayout } from '../../kafka/cluster.ts'
import { hostAndPort } from '../../model/host-and-port.ts'
import type { CheckConnector } from '../check.ts'
import { ConfigRefused, type ConnectorContext } from '../connector.ts'
import { checkRegistry } from './other-registry.ts'
import { addressGuardOf, type AddressGuard } from '../address-guard.ts'
import type { KafkaSinkConfig } from './connector.ts'
import { boundedScram } from './scram.ts'

type Place = Pick<KafkaSinkConfig, 'brokers' | 'topic' | 'tls' | 'sasl' | 'registry' | 'schema_id'>

/** A client of the other cluster, whose brokers’ hosts are resolved and checked. */
export function openOtherCluster({ brokers, tls, sasl }: Place, context: ConnectorContext): Cluster {
  const guard = addressGuardOf(context.defaults.addresses)
  const hasNames = brokers.some((broker) => isIP(hostAndPort(broker).host) === 0)
  // TLS connections use the guarded resolver; plain ones connect to the address that was checked.
  return openCluster({
    brokers,
    clientId: `dps-${context.runId}`,
    connection: {
      ...(tls ? { tls: { ca: tls.ca, ...(guard ? { lookup: guard.lookup } : {}) }, tlsServerName: hasNames } : {}),
      ...(sasl ? { sasl: loginOf(sasl, context.secret(sasl.password)) } : {}),
    },
    ...(guard ? { resolveHost: tls ? (host: string) => checkedHost(guard, host) : guard.resolve } : {}),
  })
}

const loginOf = ({ mechanism, username }: NonNullable<Place['sasl']>, password: string) =>
  mechanism === 'PLAIN' ? { mechanism, username, password } : boundedScram({ mechanism, username, password })

/** Keeps the name, because certificates are issued to it. Throws AddressRefused for a literal address that is refused. */
async function checkedHost(guard: AddressGuard, host: string): Promise<string> {
  guard.assertHost(host)
  return host
}

/** A broker that has just started, or lags behind, does not know topics that are there. */
const MISSING_MAX_MS = 60_000

/**
 * A function that returns the layout of a topic as it is now. Throws ConfigRefused when the topic does not exist; once it was seen
 * (`isKnown`), only after it has been missing for a minute, and an Error until then. `now`: in milliseconds, by a clock that only goes
 * forward.
 */
export function createTopicLook(cluster: Pick<Cluster, 'describeTopic'>, topic: string, now = () => performance.now(), isKnown = false) {
  let missingSince: number | undefined
  return async function look(): Promise<TopicLayout> {
    const layout = await cluster.describeTopic(topic)
    if (layout) {
      isKnown = true
      missingSince = undefined
      return layout
    }
    missingSince ??= now()
    const message = `the other cluster has no topic ${topic}`
    throw isKnown && now() - missingSince < MISSING_MAX_MS ? new Error(message) : new ConfigRefused(message)
  }
}

/** How old a layout may be in milliseconds: a topic gets partitions while pipelines run. */
export const LAYOUT_MS = 15_000

/** The layout that `look` finds, kept for `LAYOUT_MS`. */
export function keepLayout(look: () => Promise<TopicLayout>) {
  let layout: TopicLayout | undefined
  let lookedAt = 0
  return {
    /** Rejects as `look` does. */
    async current(): Promise<TopicLayout> {
      if (layout && performance.now() - lookedAt <= LAYOUT_MS) return layout
      const found = await look()
      ;[layout, lookedAt] = [found, performance.now()]
      return found
    },
    /** Its leaders have moved: the next `current` looks again. */
    forget(): void {
      layout = undefined
    },
  }
}

/** Connects to the other cluster and looks for the topic. */
export const checkOtherCluster: CheckConnector<Place> = async (config, context, signal) => {
  const cluster = openOtherCluster(config, context)
  try {
    const faults = await checkRegistry(config, context, signal)
    return (await cluster.describeTopic(config.topic)) ? faults : [...faults, { path: '/topic', message: 'does not exist' }]
  } catch (error) {
    return [{ path: '/brokers', message: `can't be reached: ${context.mask(reasonOf(error))}` }]
  } finally {
    await cluster.close().catch(() => {})
  }
}
