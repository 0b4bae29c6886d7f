/** Links of documents as they are in the site: to its pages, or to no page where they lead into the code. */
import { posix } from 'node:path'
import type { Page } from './pages.ts'

/** Where a link on a page leads, relative to that page; undefined where the site has no such page. */
export function hrefOn(page: Page, href: string, pages: readonly Page[]): string | undefined {
  if (/^(?:[a-z]+:|#)/.test(href)) return href
  const [target = '', anchor = ''] = href.split(/(?=#)/)
  const source = posix.join(posix.dirname(page.source), target)
  if (source.endsWith('openapi.json')) return `${'../'.repeat(page.path.split('/').length)}openapi.json`
  const found = pages.find((each) => each.source === source || each.source === posix.join(source, 'README.md'))
  return found && `${posix.relative(posix.dirname(page.path), found.path) || posix.basename(found.path)}${anchor}`
}
