/** What CONTRIBUTING.md and the import table of docs/ARCHITECTURE.md rule, as far as a machine can check it: offenders are listed. */
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { describe, expect, it } from 'vitest'
import { read, ROOT, tracked } from './repository.ts'

const GUEST =
  /^(shared\/smartmodule\/(sdk\/assembly|catalogue\/[^/]+|host\/kernel)\/|deploy\/local\/tour\/word-count\/|test\/fixtures\/smartmodules\/|clients\/cli\/template\/)/
const isGuest = (path: string): boolean => GUEST.test(path) && path !== 'shared/smartmodule/host/kernel.ts'
const code = tracked.filter(
  (path) =>
    /^(services|shared|deploy|test|clients)\/.*\.tsx?$/.test(path) &&
    !path.endsWith('.d.ts') &&
    !isGuest(path) &&
    !path.includes('/generated/'),
)

/** Relative imports of a file as paths from the root. */
function importsOf(path: string): string[] {
  return [...read(path).matchAll(/(?:from|import)\s*\(?\s*'(\.{1,2}\/[^']+)'/g)].map(([, target]) =>
    normalize(join(dirname(path), target!)),
  )
}
/** Relative imports that are there when the code runs, unlike those of types alone. */
const valuesFrom = (path: string): string[] =>
  [...read(path).matchAll(/^(?:import|export)\s+(?!type\b)[^'"]*?from\s*'(\.{1,2}\/[^']+)'/gm)].map(([, target]) => target!)
const packagesOf = (path: string): string[] =>
  [...read(path).matchAll(/(?:from|import)\s*\(?\s*'([^.'][^']*)'/g)].map(([, target]) => target!)

/** Which folders of `shared` a folder may import from: the table of ARCHITECTURE.md. */
const MAY_IMPORT = Object.fromEntries(
  [...read('docs/ARCHITECTURE.md').matchAll(/^\| (`\w+`(?:, `\w+`)*) \| (nothing|`\w+`(?:, `\w+`)*) \|$/gm)].flatMap(
    ([, folders, others]) => folders!.match(/\w+/g)!.map((folder) => [folder, others!.match(/\w+/g)!] as const),
  ),
)

/** What an operator runs. */
const SCRIPT = /^services\/control-plane\/operator\/(?!operator-settings\.ts$)/

describe('import direction', () => {
  it('goes only from services to shared, never back and never from service to service', () => {
    const wrong = code.flatMap((path) =>
      importsOf(path)
        .filter((target) => {
          if (path.startsWith('shared/')) return !target.startsWith('shared/')
          const service = /^services\/([^/]+)\//.exec(path)?.[1]
          // The console runs in a browser and knows the service by its API alone: the client's types, and nothing of `shared`.
          if (service === 'console') return !target.startsWith('services/console/') && !target.startsWith('clients/typescript/')
          return service !== undefined && !target.startsWith('shared/') && !target.startsWith(`services/${service}/`)
        })
        .map((target) => `${path} imports ${target}`),
    )
    expect(wrong).toEqual([])
  })

  it('leaves the clients by themselves: they use the public API alone, and are generated from its contracts', () => {
    const wrong = code.flatMap((path) => {
      const client = /^clients\/(\w+)\//.exec(path)?.[1]
      if (client === undefined)
        return importsOf(path).filter((target) => target.startsWith('clients/') && !/^(test|services\/console)\//.test(path))
      return importsOf(path)
        .filter((target) => !target.startsWith('clients/') && client !== 'generate')
        .map((target) => `${path} imports ${target}`)
    })
    expect(wrong).toEqual([])
  })

  it('follows the table of ARCHITECTURE.md between the folders of shared', () => {
    const folders = new Set(code.flatMap((path) => /^shared\/(\w+)\//.exec(path)?.[1] ?? []))
    expect(Object.keys(MAY_IMPORT).toSorted()).toEqual([...folders].toSorted())
    const wrong = code.flatMap((path) => {
      const folder = /^shared\/([^/]+)\//.exec(path)?.[1]
      if (folder === undefined) return []
      return importsOf(path)
        .map((target) => [target, /^shared\/([^/]+)\//.exec(target)?.[1]] as const)
        .filter(([, other]) => other !== undefined && other !== folder && !MAY_IMPORT[folder]?.includes(other))
        .map(([target]) => `${path} imports ${target}`)
    })
    expect(wrong).toEqual([])
  })

  it('allows knex, kafkajs, Extism and Koa only in the folders that own them', () => {
    const only: [string, RegExp][] = [
      ['knex', /^services\/control-plane\/store\//],
      ['kafkajs', /^(shared\/kafka\/admin|services\/control-plane|test)\//],
      ['@platformatic/kafka', /^(shared\/kafka\/client-library\.ts$|test\/)/],
      ['@extism/extism', /^shared\/smartmodule\//],
      ['koa', /^services\/control-plane\//],
    ]
    const wrong = code.flatMap((path) =>
      packagesOf(path)
        .filter((name) => only.some(([owned, folders]) => name === owned && !folders.test(path)))
        .map((name) => `${path} imports ${name}`),
    )
    expect(wrong).toEqual([])
  })

  it('allows process.env only in shared/config, and shared/config only in entry files', () => {
    const wrong = code.filter(
      (path) => /^(services|shared)\//.test(path) && !path.startsWith('shared/config/') && read(path).includes('process.env'),
    )
    expect(wrong).toEqual([])
    const importers = code.filter(
      (path) => path.startsWith('services/') && importsOf(path).some((target) => target.startsWith('shared/config/')),
    )
    expect(importers.filter((path) => !path.endsWith('/main.ts') && !SCRIPT.test(path))).toEqual([])
  })

  it('keeps what runs accounts’ code and connections out of the supervisor', () => {
    const outside = /^services\/processor\/(main\.ts|metrics\.ts|(supervisor|channel)\/)/
    const inside =
      /^(services\/processor\/(runner|task|lane|intake|member|transaction)\/|shared\/(connectors\/(?!(connector|address-guard|account-defaults)\.ts)|smartmodule\/host\/(?!kernel-binary)))/
    const wrong = code
      .filter((path) => outside.test(path))
      .flatMap((path) =>
        importsOf(path)
          .filter((target) => inside.test(target))
          .map((target) => `${path} imports ${target}`),
      )
    expect(wrong).toEqual([])
  })

  it('keeps connections out of the lanes', () => {
    const CONNECTS = /^(node:(net|tls|https?|http2|dgram)|undici|pg|ioredis|kafkajs|@platformatic\/kafka|@aws-sdk\/.*)$/
    const seen = new Set<string>()
    const visit = (path: string): void => {
      if (seen.has(path) || !code.includes(path)) return
      seen.add(path)
      valuesFrom(path)
        .filter((target) => !target.startsWith('@'))
        .forEach((target) => visit(normalize(join(dirname(path), target))))
    }
    visit('services/processor/lane/lane.ts')
    expect(seen.size).toBeGreaterThan(20)
    expect(
      [...seen].flatMap((path) =>
        packagesOf(path)
          .filter((name) => CONNECTS.test(name))
          .map((name) => `${path} imports ${name}`),
      ),
    ).toEqual([])
  })

  it('allows no package but zod in a connector.ts', () => {
    const wrong = code
      .filter((path) => path.endsWith('/connector.ts'))
      .flatMap((path) =>
        packagesOf(path)
          .filter((name) => name !== 'zod')
          .map((name) => `${path} imports ${name}`),
      )
    expect(wrong).toEqual([])
  })
})

describe('files', () => {
  it('have at most 400 lines', () => {
    const long = tracked
      .filter((path) => /^(services|shared|deploy|test)\/.*\.tsx?$/.test(path))
      .map((path) => [path, read(path).split('\n').length - 1] as const)
      .filter(([, lines]) => lines > 400)
    expect(long).toEqual([])
  })

  it('have comment lines of at most 140 characters, as oxfmt keeps code lines', () => {
    const long = tracked
      .filter((path) => /^(services|shared|deploy|clients|test|docs)\/.*\.(tsx?|py)$/.test(path) && !path.includes('/generated/'))
      .flatMap((path) => {
        const comment = path.endsWith('.py') ? /^\s*#/ : /^\s*(\/\/|\/?\*)/
        return read(path)
          .split('\n')
          .flatMap((line, at) => (line.length > 140 && comment.test(line) ? [`${path}:${at + 1}`] : []))
      })
    expect(long).toEqual([])
  })

  it('are all reachable from an entry point: a main file, a test, a Makefile script or a worker', () => {
    const entry = /^test\/|\/main\.tsx?$|^services\/console\/vite\.config\.ts$|^deploy\/local\/(run|operator-script)\.ts$/
    const entries = code.filter((path) => SCRIPT.test(path) || entry.test(path))
    const reached = new Set<string>()
    const visit = (path: string): void => {
      if (reached.has(path) || !existsSync(join(ROOT, path))) return
      reached.add(path)
      for (const target of importsOf(path)) visit(target)
      // Workers are named by URL, not imported.
      for (const [, worker] of read(path).matchAll(/new URL\('(\.[^']+\.ts)', import\.meta\.url\)/g))
        visit(normalize(join(dirname(path), worker!)))
    }
    entries.forEach(visit)
    expect(code.filter((path) => !reached.has(path))).toEqual([])
  })

  it('start with a doc comment that says what belongs there', () => {
    const silent = code.filter((path) => !read(path).startsWith('/**') && !read(path).startsWith('#!'))
    expect(silent).toEqual([])
  })
})

describe('connectors', () => {
  const folders = code
    .filter((path) => /^shared\/connectors\/[^/]+\/connector\.ts$/.test(path))
    .map((path) => path.replace('/connector.ts', ''))
  it('each have a README and a line in the catalogue', () => {
    const catalogue = read('shared/connectors/catalogue.ts')
    expect(folders.length).toBeGreaterThan(6)
    expect(
      folders.filter((folder) => !existsSync(join(ROOT, folder, 'README.md'))),
      'without a README',
    ).toEqual([])
    expect(
      folders.filter((folder) => !catalogue.includes(`./${folder.split('/').at(-1)}/connector.ts`)),
      'not in the catalogue',
    ).toEqual([])
  })

  it('import nothing from the folder of another', () => {
    const others = (path: string) => folders.filter((folder) => !path.startsWith(`${folder}/`)).map((folder) => `${folder}/`)
    const own = code.filter((path) => folders.some((folder) => path.startsWith(`${folder}/`)))
    expect(own.flatMap((path) => importsOf(path).filter((target) => others(path).some((each) => target.startsWith(each))))).toEqual([])
  })

  it('write to their context’s log alone: what a runner prints is in the processor’s log, with secrets unmasked', () => {
    const printing = code.filter(
      (path) => path.startsWith('shared/connectors/') && /\bconsole\.|\bprocess\.std(out|err)\b/.test(read(path)),
    )
    expect(printing).toEqual([])
  })
})

describe('the console', () => {
  it('knows connectors by the API alone', () => {
    // A list of them would miss the next one. The start makes pipelines of streams and a generator; the others are words of their own.
    const WORDS = ['stream', 'generator', 'table', 'http', 'log']
    const names = readdirSync(join(ROOT, 'shared/connectors'), { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && existsSync(join(ROOT, 'shared/connectors', entry.name, 'connector.ts')))
      .map(({ name }) => name)
      .filter((name) => !WORDS.includes(name))
    expect(names.length).toBeGreaterThan(4)
    const NAMED = new RegExp(`conn_(?!stream\\b)\\w|\\b(?:conn_)?(?:${names.join('|')})\\b`)
    const wrong = code
      .filter((path) => path.startsWith('services/console/'))
      .flatMap((path) =>
        read(path)
          .split('\n')
          .filter((line) => NAMED.test(line))
          .map((line) => `${path}: ${line.trim()}`),
      )
    expect(wrong, 'a connector whose name is a word of its own goes to WORDS').toEqual([])
  })
})

describe('generated pages', () => {
  const writers = tracked.filter((path) => /^docs\/write-(?!page\.)[\w-]+\.ts$/.test(path))
  it.each(writers)('are up to date with `make docs`: %s', (writer) => {
    execFileSync(process.execPath, ['--no-warnings', join(ROOT, writer), '--check'], { timeout: 120_000 })
  })
})

describe('folders', () => {
  const folderOf = (service: string, path: string): string => {
    const [first, ...rest] = path.slice(service.length + 1).split('/')
    return rest.length > 0 ? first! : ''
  }

  it('of a service face one way: none imports from a folder that imports from it', () => {
    const both = ['services/control-plane', 'services/processor'].flatMap((service) => {
      const arrows = new Set(
        code
          .filter((path) => path.startsWith(`${service}/`))
          .flatMap((path) =>
            importsOf(path)
              .filter((target) => target.startsWith(`${service}/`))
              .map((target) => [folderOf(service, path), folderOf(service, target)] as const),
          )
          .filter(([from, to]) => from !== '' && to !== '' && from !== to)
          .map(([from, to]) => `${from} → ${to}`),
      )
      return [...arrows].filter((arrow) => arrows.has(arrow.split(' → ').toReversed().join(' → '))).map((arrow) => `${service}: ${arrow}`)
    })
    expect(both).toEqual([])
  })

  it('hold more than one file', () => {
    /** What stands alone on purpose: a folder of `shared` has its own rules, a test folder says what must be running. */
    const alone = /^(shared\/(config|secrets)|test\/(house|containers|bench\/thin\/rust\/src))$/
    const folders = Map.groupBy(
      tracked.filter((path) => /^(services|shared|test|deploy)\//.test(path)),
      (path) => dirname(path),
    )
    const small = [...folders].filter(([folder, files]) => {
      const hasFolders = [...folders.keys()].some((other) => other.startsWith(`${folder}/`))
      return files.length === 1 && !hasFolders && !alone.test(folder) && !GUEST.test(`${folder}/`)
    })
    expect(small.map(([folder]) => folder)).toEqual([])
  })

  it('leave SQL to the store, and to what connectors do with other databases', () => {
    const QUERY = /\b(db|trx|lock)(<[^>]*>)?\(['"`]|\b(db|trx|lock)\.raw\(/
    const wrong = code.filter(
      (path) => path.startsWith('services/') && !path.startsWith('services/control-plane/store/') && QUERY.test(read(path)),
    )
    expect(wrong).toEqual([])
  })
})

describe('dependencies', () => {
  /** What passes them on to every operation, or to every loop of the reconciler. */
  const TAKE_ALL = ['app', 'main', 'middleware/audit', 'reconciler/reconciler', 'respond', 'routes/manifests/apply', 'routes/operation']
  it('are picked: a function of the control plane names those that it takes', () => {
    const takers = code.filter((file) => file.startsWith('services/control-plane/') && /: Deps\b/.test(read(file)))
    expect(takers.toSorted()).toEqual(TAKE_ALL.map((file) => `services/control-plane/${file}.ts`))
  })
})

describe('hot folders', () => {
  const HOT = code.filter(
    (path) =>
      /^(services\/processor\/(task\/round|transaction|lane)|shared\/kafka\/wire)\//.test(path) ||
      path === 'shared/smartmodule/host/chain.ts',
  )
  it('neither parse nor stringify JSON', () => {
    expect(HOT.length).toBeGreaterThan(10)
    expect(HOT.filter((path) => /JSON\.(parse|stringify)/.test(read(path)))).toEqual([])
  })
})

describe('names', () => {
  /** Words that exported names must not contain; allowed-words.json lists exceptions, where the contract or a library owns the word. */
  const NEVER = [
    'message',
    'event',
    'payload',
    'plugin',
    'worker',
    'tenant',
    'flow',
    'queue',
    'checkpoint',
    'bookmark',
    'shard',
    'destination',
    'util',
    'helper',
  ]
  const ALLOWED: Record<string, string[]> = JSON.parse(read('test/house/allowed-words.json'))
  const wordsOf = (name: string): string[] =>
    name
      .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
      .split(/[\s_]+/)
      .map((word) => word.toLowerCase())

  it('contain no forbidden word in exports, unless allowed-words.json lists them', () => {
    const wrong = code
      .filter((path) => /^(services|shared)\//.test(path))
      .flatMap((path) =>
        [...read(path).matchAll(/^export (?:async )?(?:const|function|type|class) (\w+)/gm)]
          .map(([, name]) => name!)
          .filter((name) => wordsOf(name).some((word) => NEVER.includes(word.replace(/s$/, ''))) && !ALLOWED[path]?.includes(name))
          .map((name) => `${path}: ${name} (${wordsOf(name).find((word) => NEVER.includes(word.replace(/s$/, '')))})`),
      )
    expect(wrong, 'the words are in NEVER of this file').toEqual([])
    const stale = Object.entries(ALLOWED).flatMap(([path, names]) => names.filter((name) => !read(path).includes(` ${name}`)))
    expect(stale).toEqual([])
  })

  it('are exported where another file uses them', () => {
    const files = tracked.filter((path) => /\.tsx?$/.test(path)).map((path) => new Set(read(path).match(/[A-Za-z_$][\w$]*/g)))
    const filesWith = new Map<string, number>()
    for (const words of files) for (const word of words) filesWith.set(word, (filesWith.get(word) ?? 0) + 1)
    const alone = code
      .filter((path) => /^(services|shared|deploy|test)\//.test(path))
      .flatMap((path) =>
        [...read(path).matchAll(/^export (?:async )?(?:const|function\*?|class) (\w+)/gm)]
          .map(([, name]) => name!)
          .filter((name) => filesWith.get(name) === 1)
          .map((name) => `${path}: ${name}`),
      )
    expect(alone, 'drop the `export`').toEqual([])
  })

  it('have a doc comment where they are exported from shared', () => {
    const silent = code
      .filter((path) => path.startsWith('shared/'))
      .flatMap((path) => {
        const lines = read(path).split('\n')
        return lines.flatMap((line, at) => {
          const name = /^export (?:async )?(?:const|function\*?|type|class|interface) (\w+)/.exec(line)?.[1]
          // A guest's exports are text in compile.ts.
          return name === undefined || name.startsWith('dps_') || lines[at - 1]?.endsWith('*/') ? [] : [`${path}: ${name}`]
        })
      })
    expect(silent).toEqual([])
  })

  it('are not utils, helpers or misc for folders and files', () => {
    expect(tracked.filter((path) => /(^|\/)(utils?|helpers?|misc)(\/|\.ts$)/.test(path))).toEqual([])
  })
})
