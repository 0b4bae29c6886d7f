/** An HTTP operation as a value: routing, validation, OpenAPI and the client all read the same one. No I/O. */
import { z } from 'zod'
import type { Scope } from '../model/limits.ts'

export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE'

/** The contract of one operation. `scope` null: any valid token; `isPublic`: no token at all. */
export type Contract = {
  id: string
  method: Method
  /** Below the prefix; path parameters as `:name`. */
  path: string
  summary: string
  tag: string
  scope: Scope | null
  isPublic?: boolean
  /** POSTs that create or write honour Idempotency-Key. */
  isIdempotent?: boolean
  /** Honours If-Match; the resource's ETag comes with it where `isTagged`. */
  isConditional?: boolean
  isTagged?: boolean
  /** It may not fit the present state: for a GET, which is not asked of others. */
  mayConflict?: boolean
  /** The success whose Location names what was made. */
  locatedBy?: number
  /** Content types of the body, JSON when left out. */
  consumes?: readonly string[]
  bodyBytesMax?: number
  /** Its body's member `records`, or its lines, are written as the bytes they came in. */
  passesRecordsOn?: boolean
  /** What the body is, where the handler validates it by itself. */
  documentedBody?: z.ZodType
  request: { params?: z.ZodObject; query?: z.ZodObject; body?: z.ZodType }
  /** Schema per success status; null for an empty answer. */
  responses: Record<number, z.ZodType | null>
}

/** Keeps the literal types of a contract. */
export const contract = <const T extends Contract>(value: T): T => value

type InferOr<S, F> = S extends z.ZodType ? z.output<S> : F
/** What a handler gets of a request that passed validation. */
export type Input<C extends Contract> = {
  params: InferOr<C['request']['params'], Record<string, never>>
  query: InferOr<C['request']['query'], Record<string, never>>
  body: InferOr<C['request']['body'], undefined>
}

/** A value as a handler gives it, before it becomes JSON: times are dates. */
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
/** What an operation answers: the body of one of its successes, or bytes that are its JSON already. */
export type Output<C extends Contract> = {
  status: number
  body?: Shown<Bodies<C>[keyof C['responses']]> | Uint8Array
  headers?: Record<string, string>
}

export const PREFIXES = ['/api/v1', '/v1'] as const

const DIGITS = /^[0-9]{1,15}$/

/** A query integer: decimal digits only, within bounds, never clamped. */
export function queryInteger(min: number, max: number) {
  return z
    .string()
    .regex(DIGITS, `must be an integer from ${min} to ${max}, in decimal digits`)
    .transform(Number)
    .pipe(z.number().min(min, `must be at least ${min}`).max(max, `must be at most ${max}`))
}

export const Timestamp = z.iso.datetime({ precision: 3 }).describe('ISO 8601, UTC, milliseconds')
export const Id = z.string().min(1).describe('opaque')
