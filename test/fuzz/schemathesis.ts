/** Schemathesis (PyPI), a tester that knows only the OpenAPI document, installed into its own environment in the cache. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { cached } from '../../deploy/local/cache.ts'

const run = promisify(execFile)
const VERSION = '4.32.5'
const INSTALL_MS_MAX = 300_000
const RUN_MS_MAX = 1_800_000

/** The environment's Python; undefined, with the reason logged, when it can't be installed. */
async function install(say: (line: string) => void): Promise<string | undefined> {
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
    say(`schemathesis: not run, ${error instanceof Error ? error.message.split('\n')[0] : String(error)}`)
    return undefined
  }
}

/**
 * Checks that hold for this service: no 5xx; documented statuses, types and bodies of answers; nothing is done without a token. Left out
 * is the check that data which fits the schema is always taken: names and references must exist, and texts have more rules than patterns.
 */
const CHECKS =
  'not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,response_schema_conformance,ignored_auth'

/** Returns its exit code: 0 when it has found nothing, undefined when it could not be installed. */
export async function runSchemathesis(
  apiUrl: string,
  token: string,
  examples: number,
  say: (line: string) => void,
): Promise<number | undefined> {
  const python = await install(say)
  if (!python) return undefined
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
