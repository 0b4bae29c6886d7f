/** A list of the API as a table, page by page; the page is in the address. */
import type { ComponentChild } from 'preact'
import { useLocation } from 'preact-iso'
import { withQuery } from '../api.ts'
import { count } from '../format.ts'
import { useQuery } from '../query.ts'
import { Loaded, Table } from './parts.tsx'
import { useRowKeys } from './row-keys.ts'

type List = { total: number; page: number; page_size: number }

type PagedProps<L extends List, T> = {
  label: string
  /** The request for a page. */
  path: (page: number) => string
  items: (list: L) => T[]
  columns: string[]
  row: (item: T, refresh: () => void) => ComponentChild
  none: string
  everyMs?: number
}

export function Paged<L extends List, T>({ label, path, items, columns, row, none, everyMs = 0 }: PagedProps<L, T>) {
  const { query, path: here } = useLocation()
  const page = Math.max(1, Number(query.page) || 1)
  const list = useQuery<L>(path(page), everyMs)
  const rows = useRowKeys()
  return (
    <Loaded query={list}>
      {(data) =>
        data.total === 0 ? (
          <p class="quiet">{none}</p>
        ) : (
          <>
            <Table label={label} columns={columns} tableRef={rows}>
              {items(data).map((item) => row(item, list.refresh))}
            </Table>
            {data.total > data.page_size && (
              <nav class="actions" aria-label="Pages">
                {page > 1 && <a href={withQuery(here, { ...query, page: page - 1 })}>← before</a>}
                <span class="quiet">
                  page {page} of {Math.ceil(data.total / data.page_size)}, {count(data.total)} in all
                </span>
                {page * data.page_size < data.total && <a href={withQuery(here, { ...query, page: page + 1 })}>after →</a>}
              </nav>
            )}
          </>
        )
      }
    </Loaded>
  )
}
