/** Tables. */
import type { ComponentChildren, RefObject } from 'preact'

/** A table that scrolls by itself where the page is narrow. Columns of numbers begin with `#`; without columns there is no head. */
export function Table({
  label,
  columns = [],
  children,
  tableRef,
  isFramed = false,
}: {
  label: string
  columns?: string[]
  children: ComponentChildren
  tableRef?: RefObject<HTMLTableElement | null>
  /** Long ones scroll in a frame of their own. */
  isFramed?: boolean
}) {
  return (
    <div class={isFramed ? 'scroll framed' : 'scroll'} tabIndex={0} role="region" aria-label={label}>
      <table ref={tableRef ?? null}>
        {columns.length > 0 && (
          <thead>
            <tr>
              {columns.map((column) => (
                <th key={column} scope="col" class={column.startsWith('#') ? 'number' : undefined}>
                  {column.replace('#', '')}
                </th>
              ))}
            </tr>
          </thead>
        )}
        <tbody>{children}</tbody>
      </table>
    </div>
  )
}
