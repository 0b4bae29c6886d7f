/** Every connector the service knows. Another one is a folder beside this file and a line here. */
import type { Connector } from './connector.ts'
import { streamConnector } from './stream/connector.ts'

export const CONNECTORS: readonly Connector[] = [streamConnector]

export function findConnector(id: string): Connector | undefined {
  return CONNECTORS.find((connector) => connector.id === id)
}
