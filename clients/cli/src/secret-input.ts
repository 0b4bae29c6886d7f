/** Secrets from standard input: as they are piped in, or typed at a terminal without being shown. */
import { StringDecoder } from 'node:string_decoder'
import { buffer } from 'node:stream/consumers'
import type { Io } from './context.ts'
import { Interrupted } from './outcome.ts'
import { textIn } from './readable-files.ts'

type Raw = (isRaw: boolean) => unknown

/** What arrows and other such keys send (ECMA-48, section 5.4). */
const CONTROL_SEQUENCE = new RegExp(`${String.fromCharCode(27)}(?:\\[[0-?]*[ -/]*[@-~]|O.)`, 'g')

/** What is typed until Ctrl-D, or until Enter where it is one line. Rejects with Interrupted for Ctrl-C. */
function typed({ stdin, signal }: Io, raw: Raw, isOneLine: boolean): Promise<string> {
  const decoder = new StringDecoder('utf8')
  let found: string[] = []
  return new Promise<string>((resolve, reject) => {
    function end(error?: unknown): void {
      stdin.off('data', onKeys).off('end', onEnd).off('error', end)
      signal.removeEventListener('abort', onAbort)
      stdin.pause()
      raw(false)
      if (error === undefined) resolve(found.join(''))
      else reject(error)
    }
    const onEnd = (): void => end()
    const onAbort = (): void => end(new Interrupted())
    function onKeys(keys: Buffer | string): void {
      const given = typeof keys === 'string' ? keys : decoder.write(keys)
      for (const key of given.replaceAll(CONTROL_SEQUENCE, '')) {
        const isEnter = key === '\r' || key === '\n'
        if (key === '\u0003') return onAbort()
        if (key === '\u0004' || (isEnter && isOneLine)) return end()
        if (key === '\u007f' || key === '\b') found.pop()
        // Ctrl-U, as terminals have it.
        else if (key === '\u0015') found = []
        else if (isEnter) found.push('\n')
        else if (key >= ' ' || key === '\t') found.push(key)
      }
    }
    raw(true)
    stdin.on('data', onKeys).on('end', onEnd).on('error', end)
    signal.addEventListener('abort', onAbort)
    if (signal.aborted) onAbort()
    else stdin.resume()
  })
}

/** Standard input to its end. At a terminal it says what it waits for, and does not show what is typed. */
export async function secretFrom(io: Io, what: string, { isOneLine = false } = {}): Promise<string> {
  const { stdin } = io
  if (!io.isTerminal || !('setRawMode' in stdin) || typeof stdin.setRawMode !== 'function') return textIn(await buffer(stdin), what)
  const say = io.prompt ?? io.note
  say(`${what}, which is not shown, and then ${isOneLine ? 'Enter' : 'Ctrl-D'}:`)
  return typed(io, stdin.setRawMode.bind(stdin), isOneLine)
}
