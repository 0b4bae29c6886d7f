/** Every connector the service knows. To add one, create a folder beside this file, and add an import and an entry here. */
import { blackholeConnector } from './blackhole/connector.ts'
import type { Connector } from './connector.ts'
import { generatorConnector } from './generator/connector.ts'
import { httpConnector } from './http/connector.ts'
import { kafkaConnector } from './kafka/connector.ts'
import { logConnector } from './log/connector.ts'
import { redisConnector } from './redis/connector.ts'
import { bucketConnector } from './storage-bucket/connector.ts'
import { streamConnector } from './stream/connector.ts'
import { tableConnector } from './table/connector.ts'
import { webhookConnector } from './webhook/connector.ts'

/** All connectors, in the order in which the API lists them. */
export const CONNECTORS: readonly Connector[] = [
  streamConnector,
  bucketConnector,
  tableConnector,
  httpConnector,
  webhookConnector,
  kafkaConnector,
  redisConnector,
  generatorConnector,
  logConnector,
  blackholeConnector,
]

/**
 * Returns the connector with this id or name, with or without `@version`; undefined if there is none. Names make pipeline definitions
 * portable.
 */
export function findConnector(id: string): Connector | undefined {
  return CONNECTORS.find((connector) => [connector.id, connector.name, `${connector.name}@${connector.version}`].includes(id))
}
