/** Secrets in configs: never a value, always the name of one of the account's secrets. */
import { z } from 'zod'
import { SECRET_NAME } from '../model/secret-name.ts'

export const Secret = z
  .strictObject(
    { $secret: z.string().regex(SECRET_NAME, 'must be the name of a secret') },
    {
      error: 'must be {"$secret": "<name>"}: put the value into a secret of the account (POST /secrets)',
    },
  )
  .describe('a secret of the account, by name')
  .meta({ writeOnly: true })
export type Secret = z.output<typeof Secret>

/** Names of all secrets that a config refers to, with their JSON pointers. */
export function secretsIn(value: unknown, path = ''): { name: string; path: string }[] {
  if (typeof value !== 'object' || value === null) return []
  const named = (value as Record<string, unknown>).$secret
  if (typeof named === 'string') return [{ name: named, path }]
  return Object.entries(value).flatMap(([key, member]) => secretsIn(member, `${path}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`))
}
