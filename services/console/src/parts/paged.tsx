/** A list of the API as a table, page by page; the page is in the address. */
import type { ComponentChild } from 'preact'
import { useLocation } from 'preact-iso'
import { withQuery } from '../api.ts'
import { count } from '../format.ts'
import { useQuery } from '../query.ts'
import { Loaded } from './failures.tsx'
import { Table } from './table.tsx'
import { useRowKeys } from './row-keys.ts'

type List = { total: number; page: number; page_size: number }

type Filter = { title: string; choices: readonly (readonly [value: string, text: string])[] }

function Filters({ filters }: { filters: Record<string, Filter> }) {
  const { query, path, route } = useLocation()
  return (
    <div class="line">
      {Object.entries(filters).map(([name, { title, choices }]) => {
        const chosen = query[name] ?? ''
        return (
          <label key={name}>
            {title}{' '}
            <select
              value={chosen}
              onChange={({ currentTarget: { value } }) => route(withQuery(path, { ...query, page: undefined, [name]: value }))}
            >
              <option value="">all</option>
              {chosen !== '' && !choices.some(([value]) => value === chosen) && <option>{chosen}</option>}
              {choices.map(([value, text]) => (
                <option key={value} value={value}>
                  {text}
                </option>
              ))}
            </select>
          </label>
        )
      })}
    </div>
  )
}

type PagedProps<L extends List, T> = {
  label: string
  /** The request for a page, with the filters that are set. */
  path: (page: number, chosen: Record<string, string | undefined>) => string
  /** What the list can be narrowed to, by the query's names. They are in the address, too. */
  filters?: Record<string, Filter>
  items: (list: L) => T[]
  columns: string[]
  row: (item: T, refresh: () => void) => ComponentChild
  none: string
  everyMs?: number
}

export function Paged<L extends List, T>({ label, path, items, columns, row, none, everyMs = 0, filters }: PagedProps<L, T>) {
  const { query, path: here } = useLocation()
  const page = Math.max(1, Number(query.page) || 1)
  const chosen = Object.fromEntries(Object.keys(filters ?? {}).map((name) => [name, query[name]]))
  const list = useQuery<L>(path(page, chosen), everyMs)
  const rows = useRowKeys()
  return (
    <>
      {filters && <Filters filters={filters} />}
      <Loaded query={list}>
        {(data) =>
          data.total === 0 ? (
            <p class="quiet">{Object.values(chosen).some(Boolean) ? 'There is nothing like that.' : none}</p>
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
    </>
  )
}
