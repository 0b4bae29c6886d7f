/** Sends the HTTP requests of plug-ins, with the addresses that each account may reach. */
import type { PlugInSender } from '../../../shared/connectors/plug-in-requests.ts'
import type { PlugInAnswer, PlugInRequest } from '../../../shared/model/plug-in-requests.ts'
import type { Definitions } from './definitions.ts'

export function createPlugInRequests(definitions: Pick<Definitions, 'defaultsOf'>) {
  const senders = new Map<string, Promise<PlugInSender>>()

  async function open(accountId: string): Promise<PlugInSender> {
    // Loaded by the first request: its HTTP client is a tenth of what an idle runner holds.
    const { openPlugInRequests } = await import('../../../shared/connectors/plug-in-requests.ts')
    return openPlugInRequests(definitions.defaultsOf(accountId).addresses)
  }

  return {
    async send({ accountId }: { accountId: string }, request: PlugInRequest): Promise<PlugInAnswer> {
      const opening = senders.get(accountId) ?? open(accountId)
      senders.set(accountId, opening)
      // What could not be loaded is loaded by the next request.
      opening.catch(() => senders.delete(accountId))
      return (await opening).send(request)
    },
    async close(): Promise<void> {
      await Promise.allSettled([...senders.values()].map(async (opening) => (await opening).close()))
    },
  }
}
