/** The rules about documents, and about lists that must be whole: a newcomer finds everything from the README, and no case is forgotten. */
import { existsSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { pagesOfSite } from '../../docs/site/pages.ts'
import { OPERATIONS } from '../../services/control-plane/routes/index.ts'
import { CONNECTORS } from '../../shared/connectors/catalogue.ts'
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

  it('name only files and functions that exist', () => {
    const ends = new Set(tracked.flatMap((path) => path.split('/').map((_, index, parts) => parts.slice(index).join('/'))))
    const code = tracked
      .filter((path) => /\.(tsx?|py)$|^tsconfig\.json$/.test(path))
      .map(read)
      .join('\n')
    const words = new Set(code.match(/[A-Za-z_]\w+/g))
    const FILE = /^[\w./-]+\.(?:tsx?|py)$/
    /** Names of Node's and of JSON Schema's. */
    const FOREIGN = new Set(['resourceLimits', 'unevaluatedItems', 'contentSchema'])
    const NAME = /^[a-z]+[A-Z]\w*(?:\.\w+)?$/
    const dead = tracked
      .filter((path) => path.endsWith('.md') && path !== 'CHANGELOG.md')
      .flatMap((path) =>
        [
          ...read(path)
            .replaceAll(/```[^]*?```/g, '')
            .matchAll(/`([^`\s]+)`/g),
        ]
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
    const codes = [...read('shared/errors/codes.ts').matchAll(/^ {2}(\w+): \{ status/gm)].map(([, code_]) => code_!)
    expect(codes.filter((each) => !table.includes(`\`${each}\``))).toEqual([])
  })

  it('and comments have no riddles: say what there is not, or who', () => {
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
    expect(long).toEqual([])
  })

  it('that are decisions say what was decided, why, what lost, and how it can fail', () => {
    const decisions = tracked.filter((path) => /^docs\/decisions\/\d.*\.md$/.test(path))
    expect(decisions.length).toBeGreaterThan(30)
    const parts = ['Context', 'Decision', 'Alternatives that lost', 'How this can fail, and how we would notice']
    expect(decisions.filter((path) => !parts.every((part) => read(path).includes(`\n## ${part}\n`)))).toEqual([])
  })

  it('describe every built-in SmartModule, and what every sink promises', () => {
    const guide = read('docs/smartmodules.md')
    const builtIns = tracked.flatMap((path) => /^shared\/smartmodule\/catalogue\/([\w-]+)\/module\.ts$/.exec(path)?.[1] ?? [])
    expect(builtIns.length).toBeGreaterThan(10)
    expect(builtIns.filter((name) => !guide.includes(`\n### dps/${name}\n`))).toEqual([])
    const promises = read('docs/specs/delivery.md')
    const sinks = CONNECTORS.filter(({ name, sink }) => sink && name !== 'stream').map(({ name }) => name)
    expect(sinks.filter((name) => !new RegExp(`^\\| [\\w, -]*\\b${name}\\b`, 'm').test(promises))).toEqual([])
  })

  it('name every target of the Makefile in CONTRIBUTING', () => {
    const contributing = read('CONTRIBUTING.md')
    const targets = [...read('Makefile').matchAll(/^([a-z-]+):.*## /gm)].map(([, target]) => target!)
    expect(targets.length).toBeGreaterThan(10)
    expect(targets.filter((target) => target !== 'help' && !contributing.includes(`\`make ${target}\``))).toEqual([])
  })

  it('of the delivery rules are kept: the code names each rule where a line upholds it', () => {
    const rules = [...read('docs/specs/delivery.md').matchAll(/^\| (D\d) \|/gm)].map(([, rule]) => rule!)
    expect(rules.length).toBeGreaterThan(6)
    const code = tracked
      .filter((path) => /^(services|shared)\/.*\.ts$/.test(path))
      .map(read)
      .join('\n')
    expect(rules.filter((rule) => !code.includes(`${rule}: `))).toEqual([])
  })

  it('list why a record can fail', () => {
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
    expect(apart).toEqual([])
  })

  it('of the documentation’s site have every document', () => {
    const shown = new Set(pagesOfSite().map(({ source }) => source))
    expect(tracked.filter((path) => /^docs\/.*\.md$/.test(path) && !shown.has(path))).toEqual([])
  })

  /** Connectors without a case, because they have tests of their own. */
  const OWN = { sources: ['conn_stream', 'conn_webhook', 'conn_http'], sinks: ['conn_stream', 'conn_log', 'conn_blackhole'] }
  it.each(['source', 'sink'] as const)('of conformance cases have every connector that is a %s', (direction) => {
    const cases = read(`test/integration/conformance-${direction}s.test.ts`)
    const connectors = CONNECTORS.filter((connector) => connector[direction] && !OWN[`${direction}s`].includes(connector.id))
    expect(connectors.length).toBeGreaterThan(3)
    expect(connectors.map(({ id }) => id).filter((id) => !cases.includes(`'${id}'`))).toEqual([])
  })
})
