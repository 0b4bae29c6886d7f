/** A Python with the packages that the Python client and its tests need. */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { cached } from '../../deploy/local/cache.ts'

const run = promisify(execFile)
const PACKAGES = ['httpx==0.28.1', 'mypy==2.4.1', 'hatchling==1.28.0', 'openapi-python-client==0.29.1']

/**
 * Path of the interpreter, without the client. Its scripts only work in the folder where it was made; its Python works anywhere. Rejects
 * where there is none.
 */
export async function python(): Promise<string> {
  const name = createHash('sha256').update(PACKAGES.join()).digest('hex').slice(0, 12)
  const place = await cached(`python-client-${name}`, async (folder) => {
    await run('python3', ['-m', 'venv', join(folder, 'env')])
    await run(join(folder, 'env', 'bin', 'python'), ['-m', 'pip', 'install', '--quiet', ...PACKAGES], { timeout: 240_000 })
  })
  return join(place, 'env', 'bin', 'python')
}
