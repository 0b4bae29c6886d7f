/** Sends the HTTP requests of plug-ins, with the addresses that each account may reach. */
import { openPlugInRequests } from '../../../shared/connectors/plug-in-requests.ts'
import type { PlugInAnswer, PlugInRequest } from '../../../shared/model/plug-in-requests.ts'
import type { Definitions } from './definitions.ts'

export function createPlugInRequests(definitions: Pick<Definitions, 'defaultsOf'>) {
  const senders = new Map<string, ReturnType<typeof openPlugInRequests>>()
  return {
    send({ accountId }: { accountId: string }, request: PlugInRequest): Promise<PlugInAnswer> {
      const known = senders.get(accountId) ?? openPlugInRequests(definitions.defaultsOf(accountId).addresses)
      senders.set(accountId, known)
      return known.send(request)
    },
    async close(): Promise<void> {
      await Promise.all([...senders.values()].map((sender) => sender.close()))
    },
  }
}
