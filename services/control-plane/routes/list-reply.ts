/** A page as the contract's list envelope. */
import type { Page } from '../store/paging.ts'

type ListBody<K extends string, R> = Record<K, R[]> & { total: number; page: number; page_size: number; next_cursor?: string }

export function listReply<K extends string, T, R>(
  key: K,
  page: Page<T>,
  request: { page: number; page_size: number },
  show: (item: T) => R,
): { status: number; body: ListBody<K, R> } {
  return {
    status: 200,
    body: {
      ...({ [key]: page.items.map(show) } as Record<K, R[]>),
      total: page.total,
      page: request.page,
      page_size: request.page_size,
      ...(page.nextCursor === undefined ? {} : { next_cursor: page.nextCursor }),
    },
  }
}
