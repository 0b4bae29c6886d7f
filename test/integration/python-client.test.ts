/** The Python client as a wheel against the service: the same journey as the TypeScript client's, and its types. */
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { service, unique } from '../harness/client.ts'
import { python } from '../harness/python.ts'
import { limitMs } from '../harness/machine-speed.ts'

const run = promisify(execFile)
const LIMIT_MS = Math.max(600_000, limitMs(120_000))
const ROOT = join(import.meta.dirname, '..', '..')
const CLIENT = join(ROOT, 'clients', 'python')
const FIXTURES = join(ROOT, 'test', 'fixtures')
const JOURNEY = join(FIXTURES, 'python-client-journey.py')

describe('the Python client', () => {
  it(
    'goes the way from a stream to a redriven dead letter, as a wheel, with strict types',
    { timeout: Math.max(900_000, limitMs(400_000)) },
    async (context) => {
      // A machine without Python, or without PyPI, can't say anything of it.
      const interpreter = await python().catch((error: unknown) => context.skip(`no Python with its packages: ${String(error)}`))
      const folder = await mkdtemp(join(tmpdir(), 'dps-python-'))
      try {
        await cp(CLIENT, join(folder, 'client'), { recursive: true })
        const build = ['-m', 'pip', 'wheel', '--quiet', '--no-deps', '--no-build-isolation', '--wheel-dir', folder, join(folder, 'client')]
        await run(interpreter, build, { timeout: LIMIT_MS })
        const wheel = join(folder, 'dps_client-0.1.0-py3-none-any.whl')
        expect(readFileSync(wheel).length).toBeGreaterThan(10_000)
        const { apiUrl, accounts } = service()
        const { api_key, api_secret } = accounts.enterprise
        // A wheel is a folder that Python can import from.
        const env = {
          PATH: process.env.PATH,
          PYTHONPATH: wheel,
          DPS_URL: apiUrl,
          DPS_API_KEY: api_key,
          DPS_API_SECRET: api_secret,
          NAME: unique('python'),
        }
        const { stdout } = await run(interpreter, [JOURNEY], { env, timeout: LIMIT_MS })
        expect(stdout.trim()).toBe('done')
        const types = await run(interpreter, ['-m', 'mypy', '--strict', '--cache-dir', folder, join(folder, 'client', 'src'), JOURNEY], {
          env: { ...env, MYPYPATH: join(folder, 'client', 'src') },
          timeout: LIMIT_MS,
        })
        expect(types.stdout).toContain('Success')
      } finally {
        await rm(folder, { recursive: true, force: true })
      }
    },
  )
})

describe('a foreign generator', () => {
  it(
    'makes fewer than 300 models of the OpenAPI document, and a client that works',
    { timeout: Math.max(900_000, limitMs(400_000)) },
    async (context) => {
      const interpreter = await python().catch((error: unknown) => context.skip(`no Python with its packages: ${String(error)}`))
      const folder = await mkdtemp(join(tmpdir(), 'dps-foreign-'))
      try {
        const { apiUrl, accounts } = service()
        await writeFile(join(folder, 'openapi.json'), await (await fetch(`${apiUrl}/openapi.json`)).text())
        // Formatters of its own would have to be installed too.
        await writeFile(join(folder, 'config.yml'), 'post_hooks: []\n')
        const place = ['--path', 'openapi.json', '--config', 'config.yml', '--output-path', 'dps_foreign', '--meta', 'none']
        const { stderr } = await run(interpreter, ['-m', 'openapi_python_client', 'generate', ...place], { cwd: folder, timeout: LIMIT_MS })
        expect(stderr).not.toContain('WARNING')
        const { api_key, api_secret } = accounts.enterprise
        const env = { PATH: process.env.PATH, PYTHONPATH: folder, DPS_URL: apiUrl, DPS_API_KEY: api_key, DPS_API_SECRET: api_secret }
        const journey = await run(interpreter, [join(FIXTURES, 'foreign-client-journey.py')], {
          env: { ...env, NAME: unique('foreign') },
          timeout: LIMIT_MS,
        })
        expect(Number(journey.stdout)).toBeLessThan(300)
        expect(Number(journey.stdout)).toBeGreaterThan(100)
      } finally {
        await rm(folder, { recursive: true, force: true })
      }
    },
  )
})
