/** Scripts of the operator without their environment: a sentence says what is missing. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'

const SCRIPTS = join(import.meta.dirname, '..', '..', 'services', 'control-plane', 'operator')

type Ran = { code: unknown; stderr: string }
const run = (script: string, args: string[], env: Record<string, string>): Promise<Ran> =>
  new Promise((resolve) =>
    execFile(
      process.execPath,
      ['--no-warnings', join(SCRIPTS, script), ...args],
      { env: { PATH: process.env.PATH, ...env } },
      (error, _out, stderr) => resolve({ code: error?.code ?? 0, stderr }),
    ),
  )

describe('a script of the operator', () => {
  it.each([
    ['sign-in-link.ts', ['acc_1', 'ada@example.com']],
    ['create-account.ts', ['Ada', 'developer']],
    ['suspend-account.ts', ['acc_1']],
    ['set-quotas.ts', ['acc_1', '{}']],
  ])('%s says in one line which settings are missing', async (script, args) => {
    const { code, stderr } = await run(script, args, {})
    expect(code).toBe(2)
    expect(stderr.trimEnd().split('\n')).toEqual([expect.stringMatching(/^the control plane's environment is needed, and .*DATABASE_URL/)])
  })

  it('says in one line that the database can’t be reached', async () => {
    const key = '0'.repeat(64)
    const env = {
      DATABASE_URL: 'postgres://u:p@127.0.0.1:1/x',
      REDIS_URL: 'redis://127.0.0.1:1',
      SCHEMA_REGISTRY_URL: 'http://127.0.0.1:1',
      KAFKA_BROKERS: '127.0.0.1:1',
      JWT_KEYS: `a:${key}`,
      SECRET_HASH_KEY: key,
    }
    const { code, stderr } = await run('suspend-account.ts', ['acc_1'], env)
    expect([code, stderr.trimEnd().split('\n').length]).toEqual([1, 1])
    expect(stderr).toContain('ECONNREFUSED')
  })
})
