/** The messages of `dps mcp`'s standard input. The SDK drops a line that is none: who sent it would wait for ever. */
import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js'

/** Of JSON-RPC 2.0, section 5.1. */
const CODES = { isNoJson: -32_700, isNoRequest: -32_600 }
/** The SDK closes its input at more (`STDIO_DEFAULT_MAX_BUFFER_SIZE`). */
const LINE_CHARACTERS_MAX = 8 * 1024 * 1024

type Refusal = { code: number; message: string; id: string | number | null }

/** Why the line is no message; undefined where it is one. */
function refusalOf(line: string, isMessage: (value: unknown) => value is JSONRPCMessage): Refusal | undefined {
  if (line.length > LINE_CHARACTERS_MAX)
    return { code: CODES.isNoRequest, message: `the message has more than ${LINE_CHARACTERS_MAX} characters`, id: null }
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch {
    return { code: CODES.isNoJson, message: 'the line is not JSON', id: null }
  }
  if (isMessage(value)) return undefined
  if (Array.isArray(value)) return { code: CODES.isNoRequest, message: 'one message per line: there are no batches', id: null }
  const { id } = typeof value === 'object' && value !== null ? (value as { id?: unknown }) : {}
  return {
    code: CODES.isNoRequest,
    message: 'not a message of JSON-RPC: an object with "jsonrpc": "2.0", a method, and an id where an answer is wanted',
    id: typeof id === 'string' || typeof id === 'number' ? id : null,
  }
}

/** Passes on the lines that are messages; `answer` gets a line for each of the others. */
export function messagesIn(
  input: NodeJS.ReadableStream,
  isMessage: (value: unknown) => value is JSONRPCMessage,
  answer: (line: string) => void,
): Readable {
  async function* messages() {
    for await (const line of createInterface({ input, crlfDelay: Infinity })) {
      if (line.trim() === '') continue
      const refusal = refusalOf(line, isMessage)
      if (!refusal) yield Buffer.from(`${line}\n`)
      else {
        const { id, ...error } = refusal
        answer(`${JSON.stringify({ jsonrpc: '2.0', id, error })}\n`)
      }
    }
  }
  return Readable.from(messages())
}
