/** Builds the documentation's site into `docs/site/dist`: static pages, their styles, and an index for the search. Takes a second. */
import { copyFile, mkdir, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { basename, join, posix } from 'node:path'
import Eleventy from '@11ty/eleventy'
import MiniSearch from 'minisearch'
import { hrefOn } from './links.ts'
import { pagesOfApi } from './operations.ts'
import { pagesOfSite, type Page } from './pages.ts'

const HERE = import.meta.dirname
const OUT = join(HERE, 'dist')

/** The parts of eleventy and of markdown-it that are used here; eleventy has no types of its own. */
type Token = {
  type: string
  content: string
  children?: Token[] | null
  attrGet(name: string): string | null
  attrSet(name: string, value: string): void
  tag: string
  attrs: unknown
}
type Rule = (
  tokens: Token[],
  at: number,
  options: unknown,
  env: { source?: string; anchors?: Map<string, number> },
  self: { renderToken(...parameters: unknown[]): string },
) => string
type MarkdownIt = { renderer: { rules: Record<string, Rule | undefined> }; set(options: object): void }
/** What eleventy has rendered; the first page has the address `/`. */
type Written = { url: string; content: string }[]
const pathOf = (url: string): string => (url === '/' ? 'index.html' : url.slice(1))
type Config = {
  addTemplate(path: string, text: string, data: object): void
  amendLibrary(name: 'md', change: (md: MarkdownIt) => void): void
  setUseGitIgnore(use: boolean): void
}

/** How a heading's anchor is made, as the documents' links expect it. */
const slugOf = (text: string): string =>
  text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(/\s/g, '-')

function navigation(page: Page, pages: readonly Page[]) {
  return [...Map.groupBy(pages, ({ group }) => group)].map(([name, own]) => ({
    name,
    isOpen: name === page.group || name === 'Get started',
    pages: own.map((each) => ({
      title: each.title,
      href: posix.relative(posix.dirname(page.path), each.path),
      isCurrent: each === page,
    })),
  }))
}

/** The sections of the written pages, as the search finds them. */
function indexOf(written: Written, pages: readonly Page[]): MiniSearch {
  const index = new MiniSearch({ fields: ['title', 'text'], storeFields: ['title', 'page', 'href'] })
  for (const { url, content } of written) {
    const path = pathOf(url)
    const page = pages.find((each) => each.path === path)
    if (!page) continue
    const body = content.slice(content.indexOf('<main'), content.lastIndexOf('</main>'))
    for (const [at, part] of body.split(/(?=<h[23] )/).entries()) {
      const [, anchor] = /^<h[23] id="([^"]+)"/.exec(part) ?? []
      const [, heading] = /<h[123][^>]*>(.*?)<\/h[123]>/s.exec(part) ?? []
      const text = plainText(part)
      if (text === '') continue
      index.add({
        id: `${path} ${at}`,
        title: heading ? plainText(heading) : page.title,
        page: `${page.group}: ${page.title}`,
        href: anchor ? `${path}#${anchor}` : path,
        text,
      })
    }
  }
  return index
}

const ENTITIES: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" }
const plainText = (html: string): string =>
  html
    .replaceAll(/<[^>]+>/g, ' ')
    .replaceAll(/&(amp|lt|gt|quot|#39);/g, (_, name: string) => ENTITIES[name]!)
    .replaceAll(/\s+/g, ' ')
    .trim()

/** Anchors at headings, and the links of the page that is rendered, which markdown-it is told by its environment. */
function withAnchorsAndLinks(md: MarkdownIt, pages: readonly Page[]): void {
  md.set({ html: false, linkify: false })
  md.renderer.rules.heading_open = (tokens, at, options, env, self) => {
    const text = (tokens[at + 1]?.children ?? []).map(({ content }) => content).join('')
    const known = (env.anchors ??= new Map())
    const slug = slugOf(text)
    const before = known.get(slug) ?? 0
    known.set(slug, before + 1)
    tokens[at]!.attrSet('id', before === 0 ? slug : `${slug}-${before}`)
    return self.renderToken(tokens, at, options)
  }
  md.renderer.rules.link_open = (tokens, at, options, env, self) => {
    const page = pages.find(({ source }) => source === env.source)
    const href = page && hrefOn(page, tokens[at]!.attrGet('href') ?? '', pages)
    if (href === undefined) {
      // Into the code, which is not part of the site: the text stays.
      tokens[at]!.tag = 'span'
      tokens[at]!.attrs = null
      const close = tokens.slice(at).find(({ type }) => type === 'link_close')
      if (close) close.tag = 'span'
    } else tokens[at]!.attrSet('href', href)
    return self.renderToken(tokens, at, options)
  }
}

/** What may be wider than the page scrolls by itself; without a pointer that takes the focus (WCAG 2.1.1). */
const withFocus = (html: string): string =>
  html
    .replaceAll('<pre>', '<pre tabindex="0">')
    .replaceAll('<table>', '<div class="wide" tabindex="0"><table>')
    .replaceAll('</table>', '</table></div>')

/** Throws where a document can't be rendered. */
export async function buildDocs(): Promise<void> {
  const pages = [...pagesOfSite(), ...pagesOfApi()]
  await rm(OUT, { recursive: true, force: true })
  await mkdir(OUT, { recursive: true })
  const eleventy = new Eleventy(join(HERE, 'templates'), OUT, {
    quietMode: true,
    configPath: null,
    config(config: Config) {
      config.setUseGitIgnore(false)
      config.amendLibrary('md', (md) => withAnchorsAndLinks(md, pages))
      for (const page of pages) {
        const { source, path, title, markdown } = page
        config.addTemplate(source, markdown, {
          layout: 'page.njk',
          permalink: `/${path}`,
          source,
          title,
          up: '../'.repeat(path.split('/').length - 1) || './',
          groups: navigation(page, pages),
          templateEngineOverride: 'md',
        })
      }
      return { markdownTemplateEngine: false, dir: { includes: '_includes' } }
    },
  })
  const written = (await eleventy.toJSON()) as Written
  for (const { url, content } of written) {
    const path = pathOf(url)
    await mkdir(join(OUT, posix.dirname(path)), { recursive: true })
    await writeFile(join(OUT, path), withFocus(content))
  }
  await writeFile(join(OUT, 'search.json'), JSON.stringify(indexOf(written, pages)))
  const minisearch = join(createRequire(import.meta.url).resolve('minisearch'), '..', '..', 'es', 'index.js')
  for (const file of [join(HERE, 'assets', 'site.css'), join(HERE, 'assets', 'search.js')]) await copyFile(file, join(OUT, basename(file)))
  await copyFile(minisearch, join(OUT, 'minisearch.js'))
}

if (import.meta.main) await buildDocs()
