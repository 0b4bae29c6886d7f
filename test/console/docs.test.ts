/** The documentation's site: its pages, where their links lead, and its search. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hasBrowser, openBrowser, openTab, picture, violations } from '../harness/browser.ts'
import { service } from '../harness/client.ts'

const DOCS = join(import.meta.dirname, '..', '..', 'docs')
const home = () => `${service().apiUrl}/docs/`

let browser: Browser
beforeAll(async () => {
  if (hasBrowser) browser = await openBrowser()
})
afterAll(() => browser?.close())

/** All pages that can be reached from the first one, by address, and what answers to a link that leads out of the site. */
async function walk(): Promise<{ pages: Map<string, string>; links: { on: string; to: URL }[] }> {
  const pages = new Map<string, string>()
  const links: { on: string; to: URL }[] = []
  const waiting = [home()]
  while (waiting.length > 0) {
    const url = waiting.pop()!
    if (pages.has(url)) continue
    const answer = await fetch(url)
    if (answer.status !== 200) throw new Error(`${url} answers ${answer.status}`)
    const html = await answer.text()
    pages.set(url, html)
    for (const [, href] of html.matchAll(/<a [^>]*?href="([^"]+)"/g)) {
      const to = new URL(href!.replaceAll('&amp;', '&'), url)
      links.push({ on: url, to })
      const page = to.href.split('#')[0]!
      if (page.startsWith(home()) && !pages.has(page)) waiting.push(page)
    }
  }
  return { pages, links }
}

describe('the documentation', () => {
  it('has a page for each document, and no link leads nowhere', async () => {
    const { pages, links } = await walk()
    const wrong = links.filter(({ to }) => {
      const html = pages.get(to.href.split('#')[0]!)
      return html !== undefined && to.hash !== '' && !html.includes(` id="${decodeURIComponent(to.hash.slice(1))}"`)
    })
    expect(wrong.map(({ on, to }) => `${on}: ${to.href}`)).toEqual([])
    const elsewhere = new Set(
      links.filter(({ to }) => to.origin === new URL(home()).origin && !to.pathname.startsWith('/docs/')).map(({ to }) => to.href),
    )
    for (const url of elsewhere) expect([url, (await fetch(url)).status]).toEqual([url, 200])
    const documents = readdirSync(DOCS, { recursive: true, encoding: 'utf8' }).filter(
      (file) => file.endsWith('.md') && !file.startsWith('site/'),
    )
    for (const file of documents) expect([...pages.keys()]).toContain(`${home()}${file.toLowerCase().replace(/\.md$/, '.html')}`)
    const { paths } = (await (await fetch(`${service().apiUrl}/openapi.json`)).json()) as { paths: object }
    const all = [...pages.values()].join('\n')
    for (const path of Object.keys(paths).filter((each) => !/auth|ingest|sessions$|sign-in/.test(each)))
      expect(all).toContain(`${path}</h2>`)
  })

  it('is led to, allows its own files alone, and says what it does not have', async () => {
    const led = await fetch(`${service().apiUrl}/docs`, { redirect: 'manual' })
    expect([led.status, led.headers.get('Location')]).toEqual([302, 'docs/'])
    expect((await fetch(home())).headers.get('Content-Security-Policy')).toContain("script-src 'self';")
    expect((await fetch(`${home()}none.html`)).status).toBe(404)
    for (const outside of ['..%2fpages.ts', '..%2f..%2fglossary.md', '..%2f..%2f..%2fpackage.json'])
      expect([outside, (await fetch(`${home()}${outside}`)).status]).toEqual([outside, 404])
  })

  it.skipIf(!hasBrowser)('is found by its words, by keyboard, and follows WCAG', async () => {
    const tab = await openTab(browser)
    const { page } = tab
    await page.goto(home())
    await page.keyboard.press('/')
    await page.keyboard.type('canary share of the keys')
    await page.getByRole('option').first().waitFor()
    await picture(page, 'docs-search')
    await page.keyboard.press('Enter')
    await page.waitForURL(/\/docs\/.+\.html/)
    await page.getByRole('combobox').fill('zzxqvw')
    await page.getByText('Not found.').waitFor()
    await page.goto(`${home()}operating/pipelines.html`)
    expect(await violations(page)).toEqual([])
    await picture(page, 'docs')
    await page.goto(`${home()}api/pipelines.html`)
    expect(await violations(page)).toEqual([])
    expect(tab.complaints).toEqual([])
    await tab.context.close()
    for (const look of [{ width: 320 }, { theme: 'dark' as const }]) {
      const other = await openTab(browser, look)
      await other.page.goto(`${home()}limits.html`)
      expect(await violations(other.page)).toEqual([])
      expect(await other.page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true)
      await picture(other.page, `docs-${look.width ?? 'dark'}`)
      await other.context.close()
    }
  })
})
