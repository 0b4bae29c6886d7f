/**
 * `make test`: runs vitest over all kinds of tests on two services, or over the given paths on one, behind which vitest's own options may
 * follow; `TEST_SERVICES` is another number of services. With STACK=containers the stack runs in containers, on the engine that answers or
 * on a podman that is set up here; without paths only the integration and container tests run then.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { compileCacheFolder } from '../deploy/local/cache.ts'

const vitest = join(import.meta.dirname, '..', 'node_modules', 'vitest', 'vitest.mjs')
const asked = process.argv.slice(2)
const isContainers = process.env.STACK === 'containers'

async function openEngine(): Promise<{ env: Record<string, string>; close(): Promise<void> }> {
  if (!isContainers) return { env: {}, close: async () => {} }
  const { findContainerEngine } = await import('../deploy/local/containers.ts')
  if (await findContainerEngine()) return { env: {}, close: async () => {} }
  const { openPodman } = await import('./containers/podman.ts')
  return openPodman((line) => void process.stdout.write(`${line}\n`))
}

const engine = await openEngine()
const given = asked.length > 0 || !isContainers ? asked : ['test/integration', 'test/containers']
// Options of vitest, as `-t 'part of a name'`, may follow the paths.
const paths = given.filter((_, at) => !given.slice(0, at + 1).some((each) => each.startsWith('-')))
const child = spawn(process.execPath, ['--no-warnings', vitest, 'run', ...given], {
  stdio: 'inherit',
  cwd: join(import.meta.dirname, '..'),
  env: {
    TEST_SERVICES: given.length === 0 ? '2' : '1',
    NODE_COMPILE_CACHE: compileCacheFolder(),
    ...process.env,
    ...engine.env,
    // What the run needs follows from its files (`test/harness/global-setup.ts`).
    TEST_PATHS: paths.join('\n'),
  },
})
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal))
const [code] = (await once(child, 'exit')) as [number | null]
await engine.close()
process.exit(code ?? 1)
