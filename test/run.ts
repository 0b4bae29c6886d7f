/** `make test`: vitest over all kinds, or over the paths given. */
import { spawn } from 'node:child_process'
import { join } from 'node:path'

const vitest = join(import.meta.dirname, '..', 'node_modules', 'vitest', 'vitest.mjs')
const child = spawn(process.execPath, ['--no-warnings', vitest, 'run', ...process.argv.slice(2)], {
  stdio: 'inherit',
  cwd: join(import.meta.dirname, '..'),
})
child.once('exit', (code) => process.exit(code ?? 1))
