/**
 * Runs a script of the control plane as an operator does: `operator-script.ts sign-in-link.ts ACCOUNT EMAIL`, with the environment's
 * settings, or, where it has none, with those of the `make run` that serves from this checkout.
 */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { LOCAL_OWNER, runningEnvironment } from './stack-file.ts'

const [script = '', ...given] = process.argv.slice(2)
/** A setting that every control plane needs: where it is set, the environment is an operator's. */
const isOperator = Boolean(process.env.DATABASE_URL)
const local = isOperator ? undefined : runningEnvironment()
if (local) process.stderr.write(`DATABASE_URL is not set: this is about the service at ${local.apiUrl}, which \`make run\` started here\n`)
// A new link like the one that `make run` printed.
const isLink = script === 'sign-in-link.ts'
const parameters = local && isLink && !given.some(Boolean) ? [local.accountId, LOCAL_OWNER] : given
const { status, stdout } = spawnSync(
  process.execPath,
  ['--no-warnings', join(import.meta.dirname, '..', '..', 'services', 'control-plane', 'operator', script), ...parameters],
  { stdio: ['inherit', local && isLink ? 'pipe' : 'inherit', 'inherit'], env: { ...process.env, ...local?.env }, encoding: 'utf8' },
)
if (local && stdout) {
  process.stdout.write(stdout)
  // The script does not know where the service is reached.
  const path = /"path":"([^"]+)"/.exec(stdout)?.[1]
  if (path) process.stderr.write(`open ${local.apiUrl}${path} (signs in once)\n`)
}
process.exit(status ?? 1)
