/** An HTTP operation as a value, from which routing, validation and the OpenAPI document are derived. No I/O. */
import { z } from 'zod'
import type { Scope } from '../model/limits.ts'

/** The HTTP methods that operations use. */
export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE'

/** The contract of one operation. With `scope` null any valid token will do; with `isPublic` none is needed. */
export type Contract = {
  id: string
  method: Method
  /** Path below the prefix, with path parameters as `:name`. */
  path: string
  summary: string
  tag: string
  scope: Scope | null
  /** Scopes that it needs beside `scope`. */
  alsoScopes?: readonly Scope[]
  isPublic?: boolean
  /** A POST that changes nothing: like GETs, it is not in the audit log, and clients may send it again. */
  isRead?: boolean
  /** Not in the audit log: it only writes records. */
  isUnaudited?: boolean
  /** Members of its answer that are shown this once: they are neither logged nor stored in clear. */
  secretMembers?: readonly string[]
  /** Honours Idempotency-Key; set for POSTs that create or write. */
  isIdempotent?: boolean
  /** Honours If-Match. */
  isConditional?: boolean
  /** Responses carry the resource's ETag. */
  isTagged?: boolean
  /** May return 409; an idempotent operation may anyway. */
  mayConflict?: boolean
  /** The success status whose Location header names the created resource. */
  locatedBy?: number
  /** Accepted content types of the body; JSON by default. */
  consumes?: readonly string[]
  bodyBytesMax?: number
  /** It reads whole lists or megabytes for one answer: few of an account's requests of this kind run at once. */
  isCostly?: boolean
  /**
   * Its page may be megabytes of what accounts have stored. Few are made at once per account, and none while the account's clients leave
   * earlier ones unread. Workshops bound their own answers.
   */
  isBulky?: boolean
  /** The records (the body's member `records`, or its lines) are written byte for byte as received. */
  passesRecordsOn?: boolean
  /** Members of the body whose numbers stay as they are written (`parseAsWritten`), as paths with `*` for any element. */
  exactMembers?: readonly string[]
  /** The handler gets the body's text too, for members that are used byte for byte. */
  passesTextOn?: boolean
  /** The body's documented schema, where the handler validates the body itself. */
  documentedBody?: z.ZodType
  request: { params?: z.ZodObject; query?: z.ZodObject; body?: z.ZodType }
  /** Response schema per success status; null for an empty response. */
  responses: Record<number, z.ZodType | null>
  /** May answer 200 with server-sent events: the data of each kind of event. */
  events?: Record<string, z.ZodType>
}

/** The contract itself, with its literal types kept. */
export const contract = <const T extends Contract>(value: T): T => value

type InferOr<S, F> = S extends z.ZodType ? z.output<S> : F
/** A handler's input: the validated path parameters, query and body. */
export type Input<C extends Contract> = {
  params: InferOr<C['request']['params'], Record<string, never>>
  query: InferOr<C['request']['query'], Record<string, never>>
  body: InferOr<C['request']['body'], undefined>
}

/** A value as a handler returns it, before it becomes JSON: any string may be a Date. */
type Shown<T> = T extends string
  ? T | Date
  : T extends readonly (infer Item)[]
    ? readonly Shown<Item>[]
    : T extends object
      ? { [K in keyof T]: Shown<T[K]> }
      : T

type Bodies<C extends Contract> = {
  [Status in keyof C['responses']]: C['responses'][Status] extends z.ZodType ? z.input<C['responses'][Status]> : never
}
/** An operation's response: the body of one of its successes, or bytes that are JSON already. */
export type Output<C extends Contract> = {
  status: number
  body?: Shown<Bodies<C>[keyof C['responses']]> | Uint8Array
  headers?: Record<string, string>
  /** Instead of a body: server-sent events, as long as the client listens. */
  events?: C['events'] extends Record<string, z.ZodType> ? Events<C['events']> : undefined
}

/**
 * A client that listens. `send` returns false, without sending the event, where the client reads too slowly. `room` waits until an event
 * would be sent, and is false once the client is gone.
 */
export type Listener<E extends Record<string, z.ZodType> = Record<string, z.ZodType>> = {
  send<Name extends keyof E & string>(event: Name, data: z.input<E[Name]>, id?: string): boolean
  room(): Promise<boolean>
  /** The Last-Event-ID that the client came back with. */
  lastEventId: string | undefined
  /** Aborted once the client is gone, or is sent away. */
  signal: AbortSignal
}
/** Serves one client; the connection is closed once it resolves or rejects. */
export type Events<E extends Record<string, z.ZodType> = Record<string, z.ZodType>> = (listener: Listener<E>) => Promise<void>

/** Path prefixes; every operation is available under each of them. */
export const PREFIXES = ['/api/v1', '/v1'] as const

const DIGITS = /^[0-9]{1,15}$/

/** Schema of an integer query parameter from `min` to `max`: decimal digits only; other values are refused, not clamped. */
export function queryInteger(min: number, max: number) {
  return z
    .string()
    .regex(DIGITS, `must be an integer from ${min} to ${max}, in decimal digits`)
    .transform(Number)
    .pipe(z.number().min(min, `must be at least ${min}`).max(max, `must be at most ${max}`))
}

/** A time in a response: ISO 8601, UTC, with milliseconds. */
export const Timestamp = z.iso.datetime({ precision: 3 }).describe('ISO 8601 time in UTC, with milliseconds')
/** The id of a resource. */
export const Id = z.string().min(1).describe('Opaque id')
