/**
 * Requests that come behind one another on a connection, in the order of their answers: none is begun before the answer ahead of it has
 * left, so that those behind a long wait, an event stream or an unread answer take no work, and answers never gather.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** Requests that may wait on a connection; with one more it is ended. */
const WAITING_MAX = 32

const isOpen = (socket: Socket): boolean => !socket.destroyed && !socket.writableEnded

export function inOrder(handle: RequestListener, waitingMax = WAITING_MAX): RequestListener {
  /** What waits, of connections with a request that has begun. */
  const lines = new WeakMap<Socket, (() => void)[]>()

  function begin(req: IncomingMessage, res: ServerResponse, line: (() => void)[]): void {
    const { socket } = req
    // An answer that was the connection's last leaves it ended.
    if (!isOpen(socket)) return
    res.once('close', () => {
      const next = line.shift()
      // In another turn of the event loop: thousands of requests may have come in one piece, and other connections have theirs between.
      if (next) setImmediate(next)
      else lines.delete(socket)
    })
    handle(req, res)
  }

  return (req, res) => {
    const { socket } = req
    if (!isOpen(socket)) return
    const line = lines.get(socket)
    if (line === undefined) {
      const own: (() => void)[] = []
      lines.set(socket, own)
      begin(req, res, own)
    } else if (line.length < waitingMax) line.push(() => begin(req, res, line))
    else socket.destroy()
  }
}
