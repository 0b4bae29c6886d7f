/** Which brokers there are and who coordinates what, cached; and requests that are repeated while a broker asks for it. */
import { ConnectionPool, findCoordinatorV6, metadataV12, type Connection, type ConnectionOptions } from './client-library.ts'
import { hostAndPort } from '../model/host-and-port.ts'
import { KafkaError } from './kafka-error.ts'
import { ignoreLateErrors } from './late-errors.ts'
import { brokerErrorCode, isRetriable, KAFKA_ERRORS } from './wire/error-codes.ts'

/** How to reach a cluster: `brokers` are `host:port` of the bootstrap brokers. */
export type ClusterOptions = {
  brokers: string[]
  clientId: string
  connection?: ConnectionOptions
  /** Returns the host to connect to in place of a broker's host (bootstrap or from metadata); throws for a forbidden one. */
  resolveHost?: (host: string) => Promise<string>
}

/**
 * A request that gets no answer within this time fails, and its connection is closed. Well below the transaction timeout (15 s), and
 * above the time a broker may take for a produce request (`TIMEOUT_MS` in wire/produce.ts).
 */
const REQUEST_TIMEOUT_MS = 8000
const CONNECT_TIMEOUT_MS = 3000

/** Kinds of coordinators, as FindCoordinator numbers them. */
export const COORDINATOR_GROUP = 0
/** Kafka's coordinator type for transactional ids. */
export const COORDINATOR_TRANSACTION = 1

/** Brokers of the metadata that are tried before the bootstrap ones, one after the other: a cluster may list any number that are down. */
const TRIED_MAX = 4

type Address = { host: string; port: number }

/** The brokers of a cluster, see `openBrokers`. */
export type Brokers = ReturnType<typeof openBrokers>

/** Connects on first use. */
export function openBrokers(options: ClusterOptions) {
  ignoreLateErrors()
  const bootstrap = options.brokers.map(hostAndPort)
  const connectionOptions: ConnectionOptions = {
    requestTimeout: REQUEST_TIMEOUT_MS,
    connectTimeout: CONNECT_TIMEOUT_MS,
    ...options.connection,
  }
  const pool = new ConnectionPool(options.clientId, connectionOptions)
  let addresses = new Map<number, Address>()

  async function resolved({ host, port }: Address): Promise<Address> {
    return { host: options.resolveHost ? await options.resolveHost(host) : host, port }
  }

  /** A connection to any broker that answers, for metadata and look-ups. */
  async function anyBroker(): Promise<Connection> {
    return pool.getFirstAvailable([...[...addresses.values()].slice(0, TRIED_MAX), ...(await Promise.all(bootstrap.map(resolved)))])
  }

  async function refreshAddresses(topics: string[]) {
    const answer = await metadataV12.api.async(await anyBroker(), topics, false, false).catch((error: unknown) => {
      // The library throws when one topic has an error, although the rest of the answer is valid.
      const { response } = error as { response?: Awaited<ReturnType<typeof metadataV12.api.async>> }
      if (!response) throw error
      return response
    })
    addresses = new Map(
      await Promise.all(answer.brokers.map(async ({ nodeId, host, port }) => [nodeId, await resolved({ host, port })] as const)),
    )
    return answer
  }

  async function addressOf(nodeId: number): Promise<Address> {
    if (!addresses.has(nodeId)) await refreshAddresses([])
    const address = addresses.get(nodeId)
    // -1 means no leader; metadata does not list a broker that is down.
    if (!address) throw new KafkaError(KAFKA_ERRORS.leaderNotAvailable)
    return address
  }

  async function coordinatorOf(type: number, key: string): Promise<number> {
    const answer = await retryBroker(async () => findCoordinatorV6.api.async(await anyBroker(), type, [key]))
    const coordinator = answer.coordinators[0]!
    addresses.set(coordinator.nodeId, await resolved(coordinator))
    return coordinator.nodeId
  }

  /** Retries retriable broker errors for up to 20 s. Throws KafkaError for a broker's error, any other error as it is. */
  async function retryBroker<T>(attempt: () => Promise<T>): Promise<T> {
    const deadline = performance.now() + 20_000
    for (let waitMs = 10; ; waitMs = Math.min(waitMs * 2, 500)) {
      try {
        return await attempt()
      } catch (error) {
        const code = brokerErrorCode(error)
        if (code === undefined || !isRetriable(code) || performance.now() > deadline) {
          throw code === undefined ? error : new KafkaError(code, error)
        }
        await new Promise((resolve) => setTimeout(resolve, waitMs))
      }
    }
  }

  return {
    anyBroker,
    /** Also learns the brokers' addresses. */
    metadataOf: refreshAddresses,
    retry: retryBroker,
    /** A connection of the shared pool; not for long polls. Throws KafkaError for a broker that is not known, or -1. */
    connectionTo: async (nodeId: number): Promise<Connection> => pool.get(await addressOf(nodeId)),
    coordinatorOf,
    openPool(purpose: string) {
      const own = new ConnectionPool(`${options.clientId}-${purpose}`, connectionOptions)
      return {
        leader: async (nodeId: number): Promise<Connection> => own.get(await addressOf(nodeId)),
        close: () => own.close(),
      }
    },
    close: () => pool.close(),
  }
}
