/** Schemathesis (PyPI), a tester that knows only the OpenAPI document, installed into its own environment in the cache. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { cached } from '../../deploy/local/cache.ts'
import { reasonOf } from '../../shared/errors/reason-of.ts'

const run = promisify(execFile)
const VERSION = '4.32.5'
const INSTALL_MS_MAX = 300_000
const RUN_MS_MAX = 1_800_000

/** The Python of its environment. Throws where it can't be installed: a run without it tests less than it says. */
export async function installSchemathesis(): Promise<string> {
  try {
    // The folder is moved into the cache afterwards: the environment's scripts name the old path, but its Python works at any path.
    const place = await cached(`schemathesis-${VERSION}`, async (folder) => {
      await run('python3', ['-m', 'venv', join(folder, 'env')], { timeout: INSTALL_MS_MAX })
      await run(join(folder, 'env', 'bin', 'python'), ['-m', 'pip', 'install', '--quiet', `schemathesis==${VERSION}`], {
        timeout: INSTALL_MS_MAX,
      })
    })
    return join(place, 'env', 'bin', 'python')
  } catch (error) {
    throw new Error(`Schemathesis can't be installed (${reasonOf(error).split('\n')[0]}): SCHEMATHESIS=0 runs without it`, { cause: error })
  }
}

/**
 * Checks that hold for this service: no 5xx; documented statuses, types and bodies of answers; nothing is done without a token. Left out
 * is the check that data which fits the schema is always taken: names and references must exist, and texts have more rules than patterns.
 */
const CHECKS =
  'not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,response_schema_conformance,ignored_auth'

/** Returns its exit code: 0 when it has found nothing. `python`: of `installSchemathesis`. */
export async function runSchemathesis(python: string, apiUrl: string, token: string, examples: number): Promise<number> {
  const child = spawn(
    python,
    [
      '-m',
      'schemathesis.cli',
      'run',
      `${apiUrl}/openapi.json`,
      '--url',
      `${apiUrl}/v1`,
      '--header',
      `Authorization: Bearer ${token}`,
      '--checks',
      CHECKS,
      '--max-examples',
      String(examples),
      '--mode',
      'all',
      '--phases',
      'examples,coverage,fuzzing',
      '--exclude-operation-id',
      'deleteKey',
      '--exclude-operation-id',
      'createToken',
      '--exclude-operation-id',
      'ingest',
      // They do not end: each request would take its time limit.
      ...['followEvents', 'tailStream', 'tailPipeline'].flatMap((id) => ['--exclude-operation-id', id]),
      '--seed',
      '7',
      '--continue-on-failure',
      '--request-timeout',
      '20',
      // Two workers now and then break each other inside Hypothesis (a KeyError of its own).
      '--workers',
      '1',
      '--no-color',
    ],
    // It leaves a report in its working directory.
    { stdio: ['ignore', 'inherit', 'inherit'], cwd: tmpdir(), timeout: RUN_MS_MAX, killSignal: 'SIGKILL' },
  )
  const [code] = (await once(child, 'exit')) as [number | null]
  return code ?? 1
}
