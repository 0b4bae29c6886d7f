/** Schemathesis (PyPI), a tester that knows nothing of us but the OpenAPI document, in an environment of its own in the cache. */
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

/** The program; undefined, said why, where there is no Python to install it with. */
async function install(say: (line: string) => void): Promise<string | undefined> {
  try {
    // An environment is moved into its place with the folder: its programs name the old one, its Python does not mind.
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
 * Checks that hold for this service: no 5xx, documented statuses, types and bodies of answers, and that without a token nothing is done.
 * Left out: that data which fit the schema are always taken (names and references must exist, patterns of texts say less than we ask).
 */
const CHECKS =
  'not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,response_schema_conformance,ignored_auth'

/** Answers its exit code: 0 when it has found nothing. */
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
      '--seed',
      '7',
      '--continue-on-failure',
      '--request-timeout',
      '20',
      // Two at once trip over each other inside of Hypothesis now and then (a KeyError of its own).
      '--workers',
      '1',
      '--no-color',
    ],
    // It leaves a report where it stands.
    { stdio: ['ignore', 'inherit', 'inherit'], cwd: tmpdir(), timeout: RUN_MS_MAX, killSignal: 'SIGKILL' },
  )
  const [code] = (await once(child, 'exit')) as [number | null]
  return code ?? 1
}
