/** The HTTP functions of `extism:host/env`. A request suspends the plug-in's call until it is answered. */
import { z } from 'zod'
import { reasonOf } from '../../../errors/reason-of.ts'
import type { Telemetry } from '../../call-seed.ts'
import { CallEnded, type HostFunctions } from '../../call-seed.ts'
import {
  isAllowedHost,
  REQUEST_BYTES_MAX,
  REQUEST_HEAD,
  REQUESTS_MAX,
  type PlugInAnswer,
  type PlugInRequest,
  type SendRequest,
} from '../../../model/plug-in-http.ts'
import { suspending } from './instantiate.ts'

/** What PDKs write: older ones leave out what is empty. */
const Asked = z.object({
  url: z.url({ protocol: /^https?$/ }).max(REQUEST_HEAD.urlMax),
  method: z.string().max(20).nullish(),
  headers: z
    .record(z.string(), z.string())
    .refine((headers) => Object.keys(headers).length <= REQUEST_HEAD.headersMax, `must be at most ${REQUEST_HEAD.headersMax}`)
    .nullish(),
})

/** The memory between a plug-in and its host: bytes of a block, and a block of bytes. */
type BlockMemory = { read(block: bigint): Buffer | undefined; give(bytes: Uint8Array): bigint }

/** Whether a plug-in may send requests: its calls are suspended then, which takes a stack of their own. */
export const sendsRequests = (module: WebAssembly.Module): boolean =>
  WebAssembly.Module.imports(module).some(({ module: namespace, name }) => namespace === 'extism:host/env' && name === 'http_request')

/** `begin` starts another call of the plug-in. Without `send` no request is sent. */
export function openExtismHttp(
  { read, give }: BlockMemory,
  allowedHosts: readonly string[],
  send: SendRequest | undefined,
  telemetry: Telemetry,
): { functions: HostFunctions[string]; begin(): void } {
  let sent = 0
  /** Only a call can be suspended, and no start. */
  let isCall = false
  let answer: PlugInAnswer | undefined

  function request(asked: bigint, body: bigint): Promise<bigint> {
    if (!isCall) throw new CallEnded('sends a request while it starts')
    return requestInCall(asked, body)
  }
  async function requestInCall(asked: bigint, body: bigint): Promise<bigint> {
    if (++sent > REQUESTS_MAX) throw new CallEnded(`sends more than ${REQUESTS_MAX} requests in one call`)
    const wanted = requestOf(read(asked), read(body))
    const { hostname } = new URL(wanted.url)
    if (!isAllowedHost(hostname, allowedHosts))
      throw new CallEnded(`may not send a request to ${hostname}: it is not one of the version’s allowed_hosts`)
    if (!send) throw new CallEnded('sends a request where none can be sent')
    answer = await send(wanted)
    if (answer.problem !== undefined) telemetry.log('warn', `${wanted.method} ${hostname}: ${answer.problem}`)
    return give(answer.body)
  }
  return {
    functions: {
      http_request: suspending(request),
      http_status_code: () => answer?.status ?? 0,
      http_headers: () => (answer ? give(Buffer.from(JSON.stringify(answer.headers))) : 0n),
    },
    begin() {
      isCall = true
      sent = 0
      answer = undefined
    },
  }
}

/** Throws CallEnded for what is no request. */
function requestOf(asked: Buffer | undefined, body: Buffer | undefined): PlugInRequest {
  try {
    if (asked && asked.length > REQUEST_HEAD.bytesMax)
      throw new Error(`it has more than ${REQUEST_HEAD.bytesMax >> 10} KiB without its body`)
    const { url, method, headers } = Asked.parse(JSON.parse(asked?.toString('utf8') ?? ''))
    if (body && body.length > REQUEST_BYTES_MAX) throw new Error(`its body has more than ${REQUEST_BYTES_MAX >> 20} MiB`)
    // Copied: the call's memory goes on to be used.
    return { url, method: (method || 'GET').toUpperCase(), headers: headers ?? {}, body: Uint8Array.from(body ?? []) }
  } catch (error) {
    throw new CallEnded(`asks for what is no HTTP request: ${error instanceof z.ZodError ? z.prettifyError(error) : reasonOf(error)}`)
  }
}
