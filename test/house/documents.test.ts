/** The rules about documents, and about lists that must be whole: a newcomer finds everything from the README, and no case is forgotten. */
import { existsSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { pagesOfSite } from '../../docs/site/pages.ts'
import { OPERATIONS } from '../../services/control-plane/routes/index.ts'
import { CONNECTORS } from '../../shared/connectors/catalogue.ts'
import { BUILT_IN_NAMES } from '../../shared/smartmodule/catalogue/catalogue.ts'
import { ERROR_CODES } from '../../shared/errors/codes.ts'
import { RECORD_CODES } from '../../shared/errors/record-codes.ts'
import { CONTRACTS, contractsOf } from '../harness/contract-check.ts'
import { read, ROOT, tracked } from './repository.ts'

describe('documents', () => {
  it('link only to files that exist', () => {
    const broken = tracked
      .filter((path) => path.endsWith('.md'))
      .flatMap((path) =>
        [...read(path).matchAll(/\]\((?!https?:|#|mailto:)([^)#\s]+)/g)]
          .map(([, target]) => [path, join(dirname(path), target!)] as const)
          .filter(([, target]) => !existsSync(join(ROOT, target))),
      )
      .map(([path, target]) => `${path} → ${relative(ROOT, join(ROOT, target))}`)
    expect(broken).toEqual([])
  })

  it('and comments name only files and functions that exist', () => {
    const ends = new Set(tracked.flatMap((path) => path.split('/').map((_, index, parts) => parts.slice(index).join('/'))))
    const COMMENT = /^\s*(\/\/|\/?\*).*$/gm
    const code = tracked
      .filter((path) => /\.(tsx?|py)$|^tsconfig\.json$/.test(path))
      .map((path) => read(path).replaceAll(COMMENT, ''))
      .join('\n')
    const words = new Set(code.match(/[A-Za-z_]\w+/g))
    const FILE = /^[\w./-]+\.(?:tsx?|py)$/
    /** Names of Node's and of JSON Schema's. */
    const FOREIGN = new Set(['resourceLimits', 'unevaluatedItems', 'contentSchema'])
    const NAME = /^[a-z]+[A-Z]\w*(?:\.\w+)?$/
    const proseOf = (path: string): string =>
      path.endsWith('.md') ? read(path).replaceAll(/```[^]*?```/g, '') : (read(path).match(COMMENT) ?? []).join('\n')
    const dead = tracked
      .filter((path) => /\.(md|tsx?)$/.test(path) && path !== 'CHANGELOG.md' && !path.includes('/generated/'))
      .flatMap((path) =>
        [...proseOf(path).matchAll(/`([^`\s]+)`/g)]
          .map(([, token]) => token!)
          .filter((token) =>
            FILE.test(token)
              ? !ends.has(token.replace(/^(\.\.\/)+/, ''))
              : NAME.test(token) && !FOREIGN.has(token) && !token.split('.').every((part) => words.has(part)),
          )
          .map((token) => `${path} → ${token}`),
      )
    expect(dead).toEqual([])
  })

  it('list every error code in docs/errors.md', () => {
    const table = read('docs/errors.md')
    expect(Object.keys(ERROR_CODES).filter((each) => !table.includes(`\`${each}\``))).toEqual([])
  })

  it('and comments name who or what they are about', () => {
    const riddles = tracked
      .filter((path) => /\.(ts|md)$/.test(path) && !path.includes('/generated/'))
      .filter((path) => path !== 'test/house/documents.test.ts' && !path.endsWith('/lexicon.ts'))
      .flatMap((path) => [...read(path).matchAll(/\b(nobody|somebody|whoever|no one)\b/gi)].map(([word]) => `${path}: ${word}`))
    expect(riddles).toEqual([])
  })

  it('are all linked from the README', () => {
    const readme = read('README.md')
    expect(tracked.filter((path) => /^docs\/.*\.md$/.test(path) && !readme.includes(`](${path}`))).toEqual([])
  })

  it('are wrapped at 140 characters, tables, headings and code aside', () => {
    // A generated paragraph is one line, as the connector's text is.
    const long = tracked
      .filter((path) => path.endsWith('.md') && path !== 'docs/connectors.md')
      .flatMap((path) =>
        read(path)
          .replaceAll(/^ *```[^]*?^ *```/gm, (block) => block.replaceAll(/[^\n]/g, ''))
          .split('\n')
          .flatMap((line, at) => (line.length > 140 && !/^\s*(\||#)/.test(line) ? [`${path}:${at + 1}`] : [])),
      )
    expect(long, 'by hand: `make format` wraps no Markdown').toEqual([])
  })

  it('that are decisions say what was decided, why, what lost, and how it can fail', () => {
    const decisions = tracked.filter((path) => /^docs\/decisions\/\d.*\.md$/.test(path))
    expect(decisions.length).toBeGreaterThan(30)
    const parts = ['Context', 'Decision', 'Alternatives that lost', 'How this can fail, and how we would notice']
    expect(decisions.filter((path) => !parts.every((part) => read(path).includes(`\n## ${part}\n`)))).toEqual([])
  })

  it('describe every built-in SmartModule', () => {
    const guide = read('docs/smartmodules.md')
    const builtIns = tracked.flatMap((path) => /^shared\/smartmodule\/catalogue\/([\w-]+)\/module\.ts$/.exec(path)?.[1] ?? [])
    expect(builtIns.length).toBeGreaterThan(10)
    const missing = builtIns.filter((name) => !guide.includes(`\n### dps/${name}\n`))
    expect(missing, 'each has a section `### dps/…` in docs/smartmodules.md').toEqual([])
  })

  it('say what every sink promises', () => {
    const [, table = ''] = /^\| sink \|.*\n\|.*\n((?:\|.*\n)+)/m.exec(read('docs/specs/delivery.md')) ?? []
    const promised = [...table.matchAll(/^\| ([^|]+) \|/gm)].flatMap(([, names]) => names!.split(', '))
    const sinks = CONNECTORS.filter(({ name, sink }) => sink && name !== 'stream').map(({ name }) => name)
    expect(promised.toSorted(), 'the table `| sink |` of docs/specs/delivery.md names exactly the sinks').toEqual(sinks.toSorted())
  })

  it('show every connector in the README’s drawing', () => {
    const [, drawing = ''] = /^```\n([^]*?)^```/m.exec(read('README.md')) ?? []
    const shown = new Set(drawing.split(/[^\w-]+/))
    const missing = CONNECTORS.map(({ name }) => name).filter((name) => !shown.has(name))
    expect(missing, 'the drawing at the top of README.md names each').toEqual([])
  })

  it.each([
    ['streams', 'docs/streams.md'],
    ['pipelines', 'docs/operating/pipelines.md'],
  ])('name every operation of one of the %s', (resource, page) => {
    const text = read(page)
    const below = OPERATIONS.map(({ contract }) => contract.path)
      .filter((path) => path.startsWith(`/${resource}/:id/`))
      .map((path) => path.slice(`/${resource}/:id`.length))
    expect(below.length).toBeGreaterThan(5)
    // `start`, `pause` and so on share a line.
    const isNamed = (path: string): boolean =>
      new RegExp(`(\\{id\\}|…)${path.replaceAll(/:\w+/g, '\\{\\w+\\}')}(?![\\w/-])`).test(text) || text.includes(`\`${path.slice(1)}\``)
    const missing = below.filter((path) => !isNamed(path))
    expect(missing, `${page} names each, as \`…/x\``).toEqual([])
  })

  it('name every target of the Makefile in CONTRIBUTING', () => {
    const contributing = read('CONTRIBUTING.md')
    const targets = [...read('Makefile').matchAll(/^([a-z-]+):.*## /gm)].map(([, target]) => target!)
    expect(targets.length).toBeGreaterThan(10)
    expect(targets.filter((target) => target !== 'help' && !contributing.includes(`\`make ${target}\``))).toEqual([])
  })

  it('of the delivery rules name none that no line of the code upholds', () => {
    const rules = [...read('docs/specs/delivery.md').matchAll(/^\| (D\d) \|/gm)].map(([, rule]) => rule!)
    expect(rules.length).toBeGreaterThan(6)
    const code = tracked
      .filter((path) => /^(services|shared)\/.*\.ts$/.test(path))
      .map(read)
      .join('\n')
    expect(rules.filter((rule) => !code.includes(`${rule}: `))).toEqual([])
  })

  it('of the reasons why a record fails are complete: the code gives no other', () => {
    const named = tracked
      .filter((path) => /^(services\/processor\/lane|shared\/(smartmodule\/host|connectors))\/.*\.ts$/.test(path))
      .flatMap((path) => [
        ...read(path).matchAll(/(?:RowFault = \{|faults\.push\(\{.*|records: \[\{.*|return \{) code: '(\w+)'|\.refuse\('(\w+)'/g),
      ])
      .map(([, fault, refusal]) => fault ?? refusal!)
    expect(named.length).toBeGreaterThan(10)
    expect(named.filter((code) => !(code in RECORD_CODES))).toEqual([])
  })
})

describe('lists', () => {
  it('of contracts that tests hold answers against have every operation', () => {
    const held = new Set(CONTRACTS.map(({ id }) => id))
    expect(OPERATIONS.map(({ contract }) => contract.id).filter((id) => !held.has(id))).toEqual([])
    expect(OPERATIONS.length).toBeGreaterThan(50)
  })

  it('of operations that have a case for each status hold every file of contracts', async () => {
    const files = tracked.filter((path) => /^shared\/api\/[\w-]+\.ts$/.test(path))
    const modules = await Promise.all(files.map(async (path) => [path, (await import(join(ROOT, path))) as object] as const))
    const withContracts = modules.filter(([, module]) => contractsOf(module).length > 0).map(([path]) => path)
    const described = tracked
      .filter((path) => /^test\/contract\/resources\/.*\.test\.ts$/.test(path))
      .flatMap((path) => {
        const text = read(path)
        const [, given = ''] = /^describeAnswers\((.*?)cases: /ms.exec(text) ?? []
        return [...text.matchAll(/^import \* as (\w+) from '(?:\.\.\/)+(shared\/api\/[\w-]+\.ts)'/gm)]
          .filter(([, name]) => given.includes(`contractsOf(${name})`))
          .map(([, , target]) => target)
      })
    expect(withContracts.length).toBeGreaterThan(15)
    expect(withContracts.filter((path) => !described.includes(path))).toEqual([])
  })

  it('of a config’s members have no host apart from its port: the hosts that a secret is for are found in URLs and in `host:port` alone', () => {
    const schemas = CONNECTORS.flatMap(({ name, source, sink }) =>
      [source, sink].flatMap((each) =>
        each ? [[name, z.toJSONSchema(each.config, { io: 'input', unrepresentable: 'any' })] as const] : [],
      ),
    )
    expect(schemas.length).toBeGreaterThan(8)
    const apart = schemas.filter(([, schema]) => /"(host|hostname|host_name|server)":/.test(JSON.stringify(schema))).map(([name]) => name)
    expect(apart, 'make host and port one member, `host:port`').toEqual([])
  })

  it('of the documentation’s site have every document', () => {
    const shown = new Set(pagesOfSite().map(({ source }) => source))
    expect(tracked.filter((path) => /^docs\/.*\.md$/.test(path) && !shown.has(path))).toEqual([])
  })

  /** Built-ins whose schema refuses every config that has no effect, or whose own tests refuse them. */
  const HAVE_NONE = ['cel', 'redact', 'explode', 'flatten', 'route-by', 'sample', 'validate']
  it.each<[path: string, what: string, without?: string[]]>([
    ['test/bench/modules.ts', 'what one costs'],
    ['test/property/members.test.ts', 'members that it reads or changes'],
    ['services/control-plane/definitions/fields-behind.ts', 'what it does to types; `() => undefined` where they are not known'],
    ['test/property/meaningless-configs.test.ts', 'configs that its schema allows and that mean nothing', HAVE_NONE],
  ])('of built-ins have every one: %s, %s', (path, _what, without = []) => {
    const text = read(path)
    expect(BUILT_IN_NAMES.length).toBeGreaterThan(10)
    const missing = BUILT_IN_NAMES.filter((name) => !new RegExp(`^ +(\\{ name: |\\[\\s*)?'(dps/)?${name}'[:,]`, 'm').test(text))
    const how = `give each a line in ${path}${without.length > 0 ? ', or its name in HAVE_NONE of this file' : ''}`
    expect(
      missing.filter((name) => !without.includes(name)),
      how,
    ).toEqual([])
  })

  /** Connectors that the conformance suites can't run, and the file that tests each. */
  const OWN: Record<string, Record<string, string>> = {
    sources: {
      conn_stream: 'test/integration/pipelines.test.ts',
      conn_webhook: 'test/integration/webhook.test.ts',
      conn_http: 'test/integration/web-services.test.ts',
    },
    sinks: {
      conn_stream: 'test/integration/pipelines.test.ts',
      conn_log: 'test/unit/log-connector.test.ts',
      conn_blackhole: 'test/integration/generator.test.ts',
    },
  }
  it('of connectors with tests of their own name files that exist', () => {
    expect(
      Object.values(OWN)
        .flatMap((each) => Object.values(each))
        .filter((path) => !tracked.includes(path)),
    ).toEqual([])
  })

  /** Connectors whose config names no other system. */
  const CONNECTS_NOWHERE = ['conn_stream', 'conn_generator', 'conn_webhook', 'conn_log', 'conn_blackhole']
  it.each([
    ['test/integration/refused-addresses.test.ts', 'it may not connect to addresses that the operator does not allow'],
    ['test/attack/servers/index.ts', 'its servers may lie'],
  ])('of connectors have every one that connects somewhere: %s, %s', (path) => {
    const text = read(path)
    expect(CONNECTS_NOWHERE.filter((id) => !CONNECTORS.some((connector) => connector.id === id))).toEqual([])
    const connectors = CONNECTORS.map(({ id }) => id).filter((id) => !CONNECTS_NOWHERE.includes(id))
    expect(connectors.length).toBeGreaterThan(4)
    const missing = connectors.filter((id) => !new RegExp(`^ +(${id}: \\(|.*connector_id: '${id}')`, 'm').test(text))
    expect(missing, `give each an entry in ${path}; one that connects nowhere: its id in CONNECTS_NOWHERE of this file`).toEqual([])
  })

  it.each(['source', 'sink'] as const)('of conformance cases have every connector that is a %s', (direction) => {
    const path = direction === 'sink' ? 'test/harness/sink-cases.ts' : 'test/integration/conformance-sources.test.ts'
    const cases = read(path)
    const connectors = CONNECTORS.filter((connector) => connector[direction] && !(connector.id in OWN[`${direction}s`]!))
    expect(connectors.length).toBeGreaterThan(3)
    const missing = connectors.map(({ id }) => id).filter((id) => !cases.includes(`'${id}'`))
    expect(missing, `give each a case in ${path}; one with tests of its own: its id and their file in OWN of this file`).toEqual([])
  })
})
