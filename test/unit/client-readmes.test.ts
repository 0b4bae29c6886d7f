/** Calls that the clients' READMEs name: each is an operation of the client. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'

const read = (...path: string[]): string => readFileSync(join(import.meta.dirname, '..', '..', 'clients', ...path), 'utf8')

it('the Python README names operations that there are', () => {
  const resources = read('python', 'src', 'dps_client', '_generated', 'resources.py')
  const core = read('python', 'src', 'dps_client', '_client.py')
  const named = [...read('python', 'README.md').matchAll(/\bdps\.([a-z]+)\.([a-z_]+)\(/g)].map(([, resource, name]) => [resource!, name!])
  expect(named.length).toBeGreaterThan(12)
  const missing = named.filter(([resource, name]) => {
    const start = resources.indexOf(`class ${resource![0]!.toUpperCase()}${resource!.slice(1)}:`)
    const end = resources.indexOf('\nclass ', start + 1)
    const own = resources.slice(start, end < 0 ? undefined : end)
    return start < 0 || (!own.includes(`def ${name}(`) && !core.includes(`def ${name}(`))
  })
  expect(missing).toEqual([])
})
