/** Secrets in configs: always the name of one of the account's secrets, never a value. */
import { z } from 'zod'
import { pointer } from '../model/json-pointer.ts'
import { SECRET_NAME } from '../model/secret-name.ts'

/** Schema of a secret in a config: `{"$secret": "<name>"}`. */
export const Secret = z
  .strictObject(
    { $secret: z.string().regex(SECRET_NAME, 'must be the name of a secret') },
    {
      error: 'must be {"$secret": "<name>"}: put the value into a secret of the account (POST /secrets)',
    },
  )
  .describe('a secret of the account, by name')
  .meta({ writeOnly: true })
/** A reference to a secret of the account, by name. */
export type Secret = z.output<typeof Secret>

/** Returns the name of every secret that a config refers to, with its JSON pointer below `path`. */
export function secretsIn(value: unknown, path = ''): { name: string; path: string }[] {
  if (typeof value !== 'object' || value === null) return []
  const named = (value as Record<string, unknown>).$secret
  if (typeof named === 'string' && Object.keys(value).length === 1) return [{ name: named, path }]
  return Object.entries(value).flatMap(([key, member]) => secretsIn(member, pointer([key], path)))
}
