/** Contracts for access tokens and API keys. */
import { z } from 'zod'
import { LIMITS, SCOPES } from '../model/limits.ts'
import { IdParams, ListQuery, listOf, Name, ScopeName } from './common.ts'
import { contract, Id, Timestamp } from './contract.ts'

/** Body of a token request: this API's own form, or OAuth 2 client credentials (RFC 6749 §4.4) on the same route. */
export const TokenRequest = z
  .union([
    z
      .strictObject({ api_key: z.string().min(1, 'must not be empty'), api_secret: z.string().min(1, 'must not be empty') })
      .meta({ id: 'ApiKeyCredentials' }),
    z
      .strictObject({
        grant_type: z.literal('client_credentials'),
        client_id: z.string().optional(),
        client_secret: z.string().optional(),
        scope: z.string().optional(),
      })
      .meta({ id: 'ClientCredentials' }),
  ])
  .meta({ id: 'TokenRequest' })

/** A bearer token, which expires after 3600 seconds. */
const TokenResponse = z
  .object({ access_token: z.string(), token_type: z.literal('Bearer'), expires_in: z.literal(3600) })
  .meta({ id: 'TokenResponse' })

const ApiKey = z.object({ id: Id, name: z.string(), scopes: z.array(ScopeName), created_at: Timestamp }).meta({ id: 'ApiKey' })

/** `POST /auth/token`: returns 200 with an access token for an API key and its secret. */
export const createTokenContract = contract({
  id: 'createToken',
  method: 'POST',
  path: '/auth/token',
  summary: 'Exchange an API key and secret for an access token',
  tag: 'Authentication',
  scope: null,
  isPublic: true,
  consumes: ['application/json', 'application/x-www-form-urlencoded'],
  bodyBytesMax: LIMITS.credentials_body_bytes_max,
  // The handler validates the body: OAuth clients may send their credentials in the Authorization header only.
  documentedBody: TokenRequest,
  request: { body: z.unknown() },
  responses: { 200: TokenResponse },
})

/** `GET /keys`: returns 200 with a page of the account's active API keys, without their secrets. */
export const listKeysContract = contract({
  id: 'listKeys',
  method: 'GET',
  path: '/keys',
  summary: 'List API keys',
  tag: 'Authentication',
  scope: 'keys:read',
  request: { query: ListQuery.omit({ status: true }) },
  responses: { 200: listOf('keys', ApiKey) },
})

/** `POST /keys`: returns 201 with the new API key and its secret. */
export const createKeyContract = contract({
  id: 'createKey',
  method: 'POST',
  path: '/keys',
  summary: 'Create an API key; its secret is shown only in this response',
  tag: 'Authentication',
  scope: 'keys:write',
  isIdempotent: true,
  locatedBy: 201,
  secretMembers: ['api_secret'],
  request: { body: z.strictObject({ name: Name, scopes: z.array(ScopeName).min(1).max(SCOPES.length).optional() }) },
  responses: { 201: ApiKey.extend({ api_key: z.string(), api_secret: z.string() }) },
})

/** `DELETE /keys/:id`: returns 204 once the key is revoked. */
export const deleteKeyContract = contract({
  id: 'deleteKey',
  method: 'DELETE',
  path: '/keys/:id',
  summary: 'Revoke an API key and its tokens',
  tag: 'Authentication',
  scope: 'keys:write',
  mayConflict: true,
  request: { params: IdParams },
  responses: { 204: null },
})
