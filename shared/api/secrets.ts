/** Secrets of an account: written, named in connector configs as `{"$secret": "<name>"}`, never read back. */
import { z } from 'zod'
import { SECRET_NAME } from '../model/secret-name.ts'
import { isStorable } from '../model/text.ts'
import { Description, IdParams, ListQuery, listOf } from './common.ts'
import { contract, Id, Timestamp } from './operation.ts'

const Value = z
  .string()
  .min(1, 'must not be empty')
  .max(65_536, 'must have at most 65536 characters')
  .refine(isStorable, 'must not contain NUL')

export const SecretItem = z
  .object({
    id: Id,
    name: z.string(),
    description: z.string(),
    used_by: z.array(Id).describe('ids of the pipelines that name it'),
    created_at: Timestamp,
    updated_at: Timestamp,
  })
  .meta({ id: 'Secret' })

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
      name: z.string().regex(SECRET_NAME, 'must be letters, digits, dots, dashes and underscores, at most 100'),
      description: Description.default(''),
      value: Value.meta({ writeOnly: true }),
    }),
  },
  responses: { 201: SecretItem },
})
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
export const updateSecretContract = contract({
  id: 'updateSecret',
  method: 'PATCH',
  path: '/secrets/:id',
  summary: 'Give a secret another value: the pipelines that name it start anew with it',
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
export const deleteSecretContract = contract({
  id: 'deleteSecret',
  method: 'DELETE',
  path: '/secrets/:id',
  summary: 'Delete a secret that no pipeline names',
  tag: 'Secrets',
  scope: 'secrets:write',
  isConditional: true,
  request: { params: IdParams },
  responses: { 204: null },
})
