/** Sends the HTTP requests of plug-ins, with the addresses that each account may reach. */
import type { PlugInSender } from '../../../shared/connectors/send-plug-in-requests.ts'
import type { PlugInAnswer, PlugInRequest } from '../../../shared/model/plug-in-http.ts'
import type { RunnerDefinitions } from './definitions.ts'

export function createPlugInRequests(definitions: Pick<RunnerDefinitions, 'defaultsOf'>) {
  const senders = new Map<string, Promise<PlugInSender>>()

  function senderOf(accountId: string): Promise<PlugInSender> {
    const known = senders.get(accountId)
    if (known) return known
    const opening = open(accountId)
    senders.set(accountId, opening)
    // What could not be loaded is loaded by the next request.
    opening.catch(() => senders.delete(accountId))
    return opening
  }

  async function open(accountId: string): Promise<PlugInSender> {
    // Loaded by the first request: its HTTP client is a tenth of what an idle runner holds.
    const { openPlugInRequests } = await import('../../../shared/connectors/send-plug-in-requests.ts')
    return openPlugInRequests(definitions.defaultsOf(accountId).addresses)
  }

  return {
    async send({ accountId }: { accountId: string }, request: PlugInRequest): Promise<PlugInAnswer> {
      return (await senderOf(accountId)).send(request)
    },
    async close(): Promise<void> {
      await Promise.allSettled([...senders.values()].map(async (opening) => (await opening).close()))
    },
  }
}
