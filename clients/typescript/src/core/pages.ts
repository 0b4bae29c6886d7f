/** Lists and data as async iterators: pages are fetched as they are needed. */

/** How many items a page has. */
export const PAGE_SIZE = 100

/** A page of a list, and where the next one begins. */
export type ListPage = { next_cursor?: string | undefined }

/** All items of a list; `items` takes them from a page. */
export async function* allOf<Page extends ListPage, Item>(
  fetchPage: (cursor: string | undefined) => Promise<Page>,
  items: (page: Page) => readonly Item[],
): AsyncGenerator<Item, void, void> {
  let cursor: string | undefined
  do {
    const page = await fetchPage(cursor)
    yield* items(page)
    cursor = page.next_cursor
  } while (cursor !== undefined)
}
