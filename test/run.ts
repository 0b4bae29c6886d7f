/**
 * `make test`: runs vitest over all kinds of tests, or over the given paths, behind which vitest's own options may follow. With
 * STACK=containers the stack runs in containers, on the engine that answers or on a podman that is set up here; without paths only the
 * integration and container tests run then.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildWebPages } from '../deploy/local/web-pages.ts'
import { printClosing, type Closing } from './harness/closing-line.ts'

const ROOT = join(import.meta.dirname, '..')
const VITEST = join(ROOT, 'node_modules', 'vitest', 'vitest.mjs')
/**
 * All tests, in two lanes side by side, each with a stack of its own: alone, their files mostly wait. The second begins with what needs no
 * stack, so that only the first one fills the cache.
 */
const LANES = [
  [['test/integration']],
  [
    ['test/unit', 'test/property', 'test/house'],
    ['test/contract', 'test/console', 'test/chaos'],
  ],
]

const asked = process.argv.slice(2)
const isContainers = process.env.STACK === 'containers'
const children = new Set<ReturnType<typeof spawn>>()
let isStopped = false
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    isStopped = true
    for (const child of children) child.kill(signal)
  })
}

async function openEngine(): Promise<{ env: Record<string, string>; close(): Promise<void> }> {
  if (!isContainers) return { env: {}, close: async () => {} }
  const { findContainerEngine } = await import('../deploy/local/containers.ts')
  if (await findContainerEngine()) return { env: {}, close: async () => {} }
  const { openPodman } = await import('./containers/podman.ts')
  return openPodman((line) => void process.stdout.write(`${line}\n`))
}

/** Resolves with the exit code; what it prints is kept until its end where `isQuiet`. */
async function runVitest(given: string[], env: Record<string, string>, isQuiet = false): Promise<number> {
  // Options of vitest, as `-t 'part of a name'`, may follow the paths.
  const paths = given.filter((_, at) => !given.slice(0, at + 1).some((each) => each.startsWith('-')))
  const child = spawn(process.execPath, ['--no-warnings', VITEST, 'run', ...given], {
    stdio: isQuiet ? ['ignore', 'pipe', 'pipe'] : 'inherit',
    cwd: ROOT,
    // What the run needs follows from its files (`test/harness/global-setup.ts`).
    env: { ...process.env, ...env, TEST_PATHS: paths.join('\n') },
  })
  children.add(child)
  const printed: Buffer[] = []
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk: Buffer) => void printed.push(chunk))
  const [code] = (await once(child, 'close')) as [number | null]
  children.delete(child)
  process.stdout.write(Buffer.concat(printed))
  return code ?? 1
}

/** All tests; resolves with the exit code. */
async function runLanes(): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'closing-'))
  await buildWebPages()
  const closings = await Promise.all(
    LANES.map(async (runs, lane) => {
      const found: Closing[] = []
      for (const [index, paths] of runs.entries()) {
        if (isStopped) break
        const CLOSING_FILE = join(folder, `${lane}-${index}.json`)
        const code = await runVitest(paths, { CLOSING_FILE, WEB_PAGES: 'built' }, lane > 0)
        const text = await readFile(CLOSING_FILE, 'utf8').catch(() => undefined)
        const closing: Closing = text === undefined ? { passed: 0, failed: 0, skipped: 0, failures: [] } : JSON.parse(text)
        if (code === 0 || closing.failed > 0) found.push(closing)
        else found.push({ ...closing, failed: 1, failures: [`vitest ended with ${code}: ${paths.join(' ')}`] })
      }
      return found
    }),
  )
  await rm(folder, { recursive: true })
  const all = closings.flat()
  const sum = (key: 'passed' | 'failed' | 'skipped') => all.reduce((before, closing) => before + closing[key], 0)
  const failed = sum('failed')
  printClosing({ passed: sum('passed'), failed, skipped: sum('skipped'), failures: all.flatMap(({ failures }) => failures) })
  return failed === 0 && !isStopped ? 0 : 1
}

const engine = await openEngine()
let code: number
if (asked.length > 0) code = await runVitest(asked, engine.env)
else if (isContainers) code = await runVitest(['test/integration', 'test/containers'], engine.env)
else code = await runLanes()
await engine.close()
process.exit(code)
