/** The Python client as a wheel against the service: the same journey as the TypeScript client's, and its types. */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { cached } from '../../deploy/local/cache.ts'
import { service, unique } from '../harness/client.ts'

const run = promisify(execFile)
const ROOT = join(import.meta.dirname, '..', '..')
const CLIENT = join(ROOT, 'clients', 'python')
const JOURNEY = join(ROOT, 'test', 'fixtures', 'python-client-journey.py')
const PACKAGES = ['httpx==0.28.1', 'mypy==2.4.1', 'hatchling==1.28.0']

/** A Python with the packages, and without the client. Its scripts name the folder that it was made in; its Python works anywhere. */
async function python(): Promise<string> {
  const name = createHash('sha256').update(PACKAGES.join()).digest('hex').slice(0, 12)
  const place = await cached(`python-client-${name}`, async (folder) => {
    await run('python3', ['-m', 'venv', join(folder, 'env')])
    await run(join(folder, 'env', 'bin', 'python'), ['-m', 'pip', 'install', '--quiet', ...PACKAGES], { timeout: 240_000 })
  })
  return join(place, 'env', 'bin', 'python')
}

describe('the Python client', () => {
  it('goes the way from a stream to a redriven dead letter, as a wheel, with strict types', { timeout: 400_000 }, async (context) => {
    // A machine without Python, or without PyPI, can't say anything of it.
    const interpreter = await python().catch((error: unknown) => context.skip(`no Python with its packages: ${String(error)}`))
    const folder = await mkdtemp(join(tmpdir(), 'dps-python-'))
    try {
      await cp(CLIENT, join(folder, 'client'), { recursive: true })
      const build = ['-m', 'pip', 'wheel', '--quiet', '--no-deps', '--no-build-isolation', '--wheel-dir', folder, join(folder, 'client')]
      await run(interpreter, build, { timeout: 120_000 })
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
      const { stdout } = await run(interpreter, [JOURNEY], { env, timeout: 120_000 })
      expect(stdout.trim()).toBe('done')
      const types = await run(interpreter, ['-m', 'mypy', '--strict', '--cache-dir', folder, join(folder, 'client', 'src'), JOURNEY], {
        env: { ...env, MYPYPATH: join(folder, 'client', 'src') },
        timeout: 120_000,
      })
      expect(types.stdout).toContain('Success')
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  })
})
