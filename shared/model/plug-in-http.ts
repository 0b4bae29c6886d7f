/**
 * HTTP requests of Extism plug-ins, as far as the module's host sees them: who sends them, and to which hosts a version may send any. The
 * host only passes them on, because it must hold no connection.
 */

/** A request as a plug-in asks for it; an empty body is none. */
export type PlugInRequest = { method: string; url: string; headers: Record<string, string>; body: Uint8Array }
/** What came back; `problem` says why a request has no answer of its own, with 502 or 504 as a proxy would say it. */
export type PlugInAnswer = { status: number; headers: Record<string, string>; body: Uint8Array<ArrayBuffer>; problem?: string }
/** Sends a request and returns within `REQUEST_MS_MAX`. */
export type SendRequest = (request: PlugInRequest) => Promise<PlugInAnswer>

/** Time for one request with its connection and its answer. */
export const REQUEST_MS_MAX = 3000
/** Size of a request's body, and of an answer's. */
export const REQUEST_BYTES_MAX = 1 << 20
/** Limits of a request without its body, as a plug-in writes it; of its address; and of its number of headers. */
export const REQUEST_HEAD = { bytesMax: 65_536, urlMax: 8192, headersMax: 100 }
/** In one call of a plug-in. */
export const REQUESTS_MAX = 10

/** A host by its name or address; `*.example.com` stands for all names that end in `.example.com`. */
export const HOST_PATTERN = /^(\*\.)?[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/

/** Whether one of the patterns stands for the host of a URL. */
export const isAllowedHost = (host: string, patterns: readonly string[]): boolean =>
  patterns.some((pattern) => (pattern.startsWith('*.') ? host.endsWith(pattern.slice(1)) : host === pattern))
