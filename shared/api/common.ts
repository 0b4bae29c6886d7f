/** Parts that several resources share: names, descriptions, paging. */
import { z } from 'zod'
import { LIMITS } from '../model/limits.ts'
import { isStorable } from '../model/text.ts'
import { queryInteger } from './operation.ts'

const CONTROL_CHARACTERS = /\p{Cc}/u

/** A resource's name: unique per account and kind; `dps/` belongs to the built-ins. */
export const Name = z
  .string()
  .min(1, 'must not be empty')
  .max(LIMITS.name_characters_max, `must have at most ${LIMITS.name_characters_max} characters`)
  .refine(
    (name) => name.trim() === name && !CONTROL_CHARACTERS.test(name) && isStorable(name),
    'must not have surrounding space, control characters or half a surrogate pair',
  )
  .refine((name) => !name.startsWith('dps/'), 'must not start with dps/, which is reserved')

export const Description = z
  .string()
  .max(LIMITS.description_characters_max, `must have at most ${LIMITS.description_characters_max} characters`)
  .refine(isStorable, 'must not contain NUL or half a surrogate pair')

/** `?page=1&page_size=10`, or a cursor; with filters and sort. */
export const ListQuery = z.object({
  page: queryInteger(1, 1_000_000_000).default(1),
  page_size: queryInteger(1, LIMITS.page_size_max).default(10),
  name: z.string().refine(isStorable, 'must not contain NUL or half a surrogate pair').optional(),
  status: z.string().refine(isStorable, 'must not contain NUL or half a surrogate pair').optional(),
  sort: z.enum(['created_at', '-created_at', 'name', '-name']).default('created_at'),
  cursor: z.string().min(1, 'must not be empty').optional(),
})
export type ListQuery = z.output<typeof ListQuery>

/** The contract's list envelope under the resource's own key; `next_cursor` only while something follows. */
export function listOf<K extends string, T extends z.ZodType>(key: K, item: T) {
  return z.object({
    ...({ [key]: z.array(item) } as Record<K, z.ZodArray<T>>),
    total: z.number().int(),
    page: z.number().int(),
    page_size: z.number().int(),
    next_cursor: z.string().optional(),
  })
}

export const IdParams = z.object({ id: z.string() })

/** An id or version that a body names. */
export const Reference = z
  .string()
  .min(1, 'must not be empty')
  .max(LIMITS.name_characters_max, 'is too long')
  .refine(isStorable, 'must not contain NUL or half a surrogate pair')
