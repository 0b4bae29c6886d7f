/** HTTP requests of a lane's plug-ins: a lane has no connection, so the main thread sends them and answers. */
import type { PlugInAnswer, PlugInRequest, SendRequest } from '../../../shared/model/plug-in-http.ts'
import type { FromLane } from './messages.ts'

/** `ask` posts to the main thread, which always answers. */
export function createPlugInCalls(ask: (message: FromLane) => void) {
  const waiting = new Map<number, (answer: PlugInAnswer) => void>()
  let nextId = 1
  return {
    senderOf:
      (chainId: number): SendRequest =>
      (request: PlugInRequest) =>
        new Promise((resolve) => {
          const requestId = nextId++
          waiting.set(requestId, resolve)
          ask({ type: 'request', chainId, requestId, request })
        }),
    settle(requestId: number, answer: PlugInAnswer): void {
      waiting.get(requestId)?.(answer)
      waiting.delete(requestId)
    },
  }
}
