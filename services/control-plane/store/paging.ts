/** One page of a list: filters, sort, total, and a keyset cursor for deep lists. */
import { isStorable } from '../../../shared/model/text.ts'
import { invalidRequest } from '../service-error.ts'
import type { Knex } from 'knex'

/** Which page to read: by number or by cursor, sorted and filtered. */
export type PageRequest = { page: number; page_size: number; sort: string; name?: string; status?: string; kind?: string; cursor?: string }
/** The items of one page; `total` counts all pages, `nextCursor` is set while more items follow. */
export type Page<T> = { items: T[]; total: number; nextCursor: string | undefined }

type Keyed = { id: string; name: string; created_at: Date }
/** Where a page ended: the sort value and the id of its last item. */
type Cursor = { sort: string; value: string; id: string }

const CURSOR_ID = /^[a-z]+_[0-9a-z_]+$/
const CURSOR_TIME = /^[12]\d{3}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

function parseCursor(text: string, sort: string): Cursor {
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'))
    if (typeof value === 'object' && value !== null) {
      const { s, v, i } = value as { s?: unknown; v?: unknown; i?: unknown }
      if (
        s === sort &&
        typeof v === 'string' &&
        typeof i === 'string' &&
        CURSOR_ID.test(i) &&
        (sort.endsWith('name') ? isStorable(v) : CURSOR_TIME.test(v) && !Number.isNaN(Date.parse(v)))
      )
        return { sort, value: v, id: i }
    }
  } catch {
    // Reported below.
  }
  throw invalidRequest([{ path: '/query/cursor', message: 'is not a cursor of this list and sort' }])
}

/**
 * One page of `scope`, the query of all items that the caller may see, without order and limit; it selects at least id, name and
 * created_at. Throws 400 for a malformed cursor, or one of another sort.
 */
export async function findPage<T extends Keyed>(scope: Knex.QueryBuilder, request: PageRequest): Promise<Page<T>> {
  const filtered = scope.clone()
  if (request.name !== undefined) void filtered.where('name', request.name)
  if (request.kind !== undefined) void filtered.where('kind', request.kind)
  if (request.status !== undefined) void filtered.where('status', request.status)
  const [{ count }] = (await filtered.clone().clearSelect().count('* as count')) as [{ count: string }]
  const isDescending = request.sort.startsWith('-')
  const column = request.sort.replace('-', '')
  const direction = isDescending ? 'desc' : 'asc'
  // Cursors hold milliseconds, so times are sorted and compared in milliseconds too; else rows of one millisecond repeat or are lost.
  const shown = column === 'created_at' ? `date_trunc('milliseconds', created_at)` : column
  const query = filtered.orderByRaw(`${shown} ${direction}, id ${direction}`).limit(request.page_size + 1)
  if (request.cursor === undefined) void query.offset((request.page - 1) * request.page_size)
  else {
    const { value, id } = parseCursor(request.cursor, request.sort)
    const comparison = isDescending ? '<' : '>'
    const cast = column === 'created_at' ? '?::timestamptz' : '?'
    void query.whereRaw(`(${shown}, id) ${comparison} (${cast}, ?)`, [value, id])
  }
  const rows = (await query) as T[]
  const items = rows.slice(0, request.page_size)
  const last = rows.length > items.length ? items.at(-1) : undefined
  const nextCursor =
    last &&
    Buffer.from(
      JSON.stringify({ s: request.sort, v: column === 'created_at' ? last.created_at.toISOString() : last.name, i: last.id }),
    ).toString('base64url')
  return { items, total: Number(count), nextCursor }
}
