/** Contracts for an account's secrets: connector configs refer to them as `{"$secret": "<name>"}`; values can't be read back. */
import { z } from 'zod'
import { SECRET_NAME } from '../model/secret-name.ts'
import { isStorable } from '../model/text.ts'
import { Description, IdParams, ListQuery, listOf, Reference } from './common.ts'
import { contract, Id, Timestamp } from './contract.ts'

const Value = z
  .string()
  .min(1, 'must not be empty')
  .max(65_536, 'must have at most 65536 characters')
  .refine(isStorable, 'must not contain NUL or unpaired surrogates')

const HOST = /^(\*\.)?([A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])$/

/** A secret without its value. */
const SecretItem = z
  .object({
    id: Id,
    name: z.string(),
    description: z.string(),
    connectors: z.array(z.string()).nullable().describe('Ids or names of the connectors that it is for; null for all'),
    hosts: z.array(z.string()).nullable().describe('Hosts that it is for; null for all'),
    used_by: z.array(Id).describe('Ids of the pipelines that use the secret'),
    created_at: Timestamp,
    updated_at: Timestamp,
  })
  .meta({ id: 'Secret' })

/** `POST /secrets`: returns 201 with the new secret, without its value. */
export const createSecretContract = contract({
  id: 'createSecret',
  method: 'POST',
  path: '/secrets',
  summary: 'Store a secret; its value is never shown again',
  tag: 'Secrets',
  scope: 'secrets:write',
  isIdempotent: true,
  locatedBy: 201,
  request: {
    body: z.strictObject({
      name: z.string().regex(SECRET_NAME, 'must be at most 100 letters, digits, dots, dashes and underscores, the first a letter or digit'),
      description: Description.default(''),
      value: Value.meta({ writeOnly: true }),
      connectors: z.array(Reference).min(1).max(100).optional().describe('Ids or names of the only connectors that may use it'),
      hosts: z
        .array(z.string().regex(HOST, 'must be a host name or address, or *. and a domain'))
        .min(1)
        .max(100)
        .optional()
        .describe('The only hosts that a config with this secret may name; `*.example.com` for all below a domain'),
    }),
  },
  responses: { 201: SecretItem },
})
/** `GET /secrets`: returns 200 with a page of secrets, without their values. */
export const listSecretsContract = contract({
  id: 'listSecrets',
  method: 'GET',
  path: '/secrets',
  summary: 'List secrets, without their values',
  tag: 'Secrets',
  scope: 'secrets:read',
  request: { query: ListQuery.omit({ status: true }) },
  responses: { 200: listOf('secrets', SecretItem) },
})
/** `GET /secrets/:id`: returns 200 with one secret, without its value. */
export const getSecretContract = contract({
  id: 'getSecret',
  method: 'GET',
  path: '/secrets/:id',
  summary: 'Get one secret, without its value',
  tag: 'Secrets',
  scope: 'secrets:read',
  isTagged: true,
  request: { params: IdParams },
  responses: { 200: SecretItem },
})
/** `PATCH /secrets/:id`: returns 200 with the changed secret, without its value. */
export const updateSecretContract = contract({
  id: 'updateSecret',
  method: 'PATCH',
  path: '/secrets/:id',
  summary: 'Change a secret’s value or description; pipelines that use it restart with a new value',
  tag: 'Secrets',
  scope: 'secrets:write',
  isConditional: true,
  isTagged: true,
  request: {
    params: IdParams,
    body: z.strictObject({ description: Description.optional(), value: Value.meta({ writeOnly: true }).optional() }),
  },
  responses: { 200: SecretItem },
})
/** `DELETE /secrets/:id`: returns 204 once the secret is deleted. */
export const deleteSecretContract = contract({
  id: 'deleteSecret',
  method: 'DELETE',
  path: '/secrets/:id',
  summary: 'Delete a secret that no pipeline uses',
  tag: 'Secrets',
  scope: 'secrets:write',
  isConditional: true,
  mayConflict: true,
  request: { params: IdParams },
  responses: { 204: null },
})
