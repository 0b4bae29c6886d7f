/** A client of server-sent events that does not read: it is told no more than fits, and its connection ends when it is sent away. */
import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { openSseClient } from '../../services/control-plane/sse/sse-client.ts'

describe('a client of server-sent events', () => {
  it('that does not read gets about a mebibyte, and room again once it reads', async () => {
    const { body, listener, close } = openSseClient(undefined)
    let sent = 0
    while (listener.send('frame', 'x'.repeat(10_000))) sent++
    expect(sent).toBeGreaterThan(50)
    expect(sent).toBeLessThan(130)
    body.resume()
    expect(await listener.room()).toBe(true)
    expect(listener.send('frame', 'x')).toBe(true)
    close()
  })

  it('is gone within a second or two after it was sent away, even if it never reads', async () => {
    const { body, listener, close } = openSseClient(undefined)
    while (listener.send('frame', 'x'.repeat(10_000))) continue
    const closed = once(body, 'close')
    close()
    expect(listener.signal.aborted).toBe(true)
    expect(await listener.room()).toBe(false)
    await closed
  })

  it('gets events in the form of the standard', async () => {
    const { body, listener, close } = openSseClient('7')
    expect(listener.lastEventId).toBe('7')
    listener.send('log', { message: 'a\nb' }, '8')
    close()
    const text = Buffer.concat(await body.toArray()).toString()
    expect(text).toBe(': \n\nevent: log\nid: 8\ndata: {"message":"a\\nb"}\n\n')
  })
})
