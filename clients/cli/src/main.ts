/** The process of `dps`. */
import { EXIT } from './outcome.ts'
import { runProgram } from './program.ts'
import { createTerminal } from './terminal.ts'

const gone = new AbortController()
process.on('SIGINT', () => {
  // A second Ctrl-C does not wait.
  if (gone.signal.aborted) process.exit(130)
  gone.abort()
  // Ends a command that waits for input.
  process.stdin.destroy()
})
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // As with other programs, a reader that has seen enough ends it.
  if (error.code === 'EPIPE') process.exit(EXIT.done)
  process.stderr.write(`dps: the output can't be written: ${error.message}\n`)
  process.exit(EXIT.away)
})
process.stderr.on('error', () => {})

const terminal = createTerminal(
  (text) => void process.stdout.write(text),
  (text) => void process.stderr.write(text),
  process.stderr.isTTY === true,
)
const code = await runProgram(process.argv.slice(2), {
  env: process.env,
  stdin: process.stdin,
  isTerminal: process.stdin.isTTY === true,
  write: terminal.write,
  note: terminal.note,
  signal: gone.signal,
})
terminal.end()
process.exitCode = code
process.stdin.unref?.()
