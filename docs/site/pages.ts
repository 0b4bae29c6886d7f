/** The pages of the documentation's site: which documents there are, in which order, and where each of them is. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '..', '..')

/** One page. `source`: path of the document in the repository; `path`: of the page below the site's. */
export type Page = { source: string; path: string; title: string; group: string; markdown: string }

const GROUPS: readonly [group: string, sources: readonly string[]][] = [
  [
    'Get started',
    ['README.md', 'docs/streams.md', 'docs/smartmodules.md', 'shared/smartmodule/sdk/README.md', 'docs/connectors.md', 'docs/files.md'],
  ],
  [
    'Tools',
    ['docs/operating/console.md', 'clients/cli/README.md', 'docs/manifests.md', 'clients/typescript/README.md', 'clients/python/README.md'],
  ],
  [
    'Operate',
    [
      'docs/operating/starting.md',
      'docs/operating/pipelines.md',
      'docs/operating/connectors.md',
      'docs/operating/accounts.md',
      'docs/operating/isolation.md',
      'docs/operating/settings.md',
      'docs/operating/metrics.md',
      'docs/operating/upgrades.md',
    ],
  ],
  ['Reference', ['docs/limits.md', 'docs/errors.md', 'docs/specs/delivery.md', 'docs/specs/abi.md', 'docs/specs/pipeline-status.md']],
  ['Connectors', [...readmesOf('shared/connectors')]],
  ['Inside', ['docs/ARCHITECTURE.md', 'CONTRIBUTING.md', 'docs/connectors-writing.md', 'CHANGELOG.md', ...decisions()]],
]

function readmesOf(folder: string): string[] {
  const found = readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
  return found
    .filter((file) => file.endsWith('/README.md'))
    .toSorted()
    .map((file) => `${folder}/${file}`)
}

function decisions(): string[] {
  const files = readdirSync(join(ROOT, 'docs', 'decisions')).filter((file) => file.endsWith('.md'))
  return files.toSorted().map((file) => `docs/decisions/${file}`)
}

function pathOf(source: string): string {
  if (source === 'README.md') return 'index.html'
  const short = source
    .replace(/^docs\//, '')
    .replace(/^shared\/(smartmodule\/)?/, '')
    .replace(/\/README\.md$/, '.md')
  return short.toLowerCase().replace(/\.md$/, '.html')
}

/** Every document of the site, in the order of its navigation. Throws where one has no heading. */
export function pagesOfSite(): Page[] {
  return GROUPS.flatMap(([group, sources]) =>
    sources.map((source): Page => {
      const markdown = readFileSync(join(ROOT, source), 'utf8')
      const [, title] = /^# (.+)$/m.exec(markdown) ?? []
      if (title === undefined) throw new Error(`${source} has no heading`)
      return { source, path: pathOf(source), title: source === 'README.md' ? 'Overview' : title.replaceAll('`', ''), group, markdown }
    }),
  )
}
