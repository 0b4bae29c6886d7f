/** The process of `dps`. */
import { EXIT } from './outcome.ts'
import { runProgram } from './program.ts'

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

const code = await runProgram(process.argv.slice(2), {
  env: process.env,
  stdin: process.stdin,
  isTerminal: process.stdin.isTTY === true,
  write: (text) => void process.stdout.write(text),
  note: (text) => {
    // Progress is for terminals.
    if (text.startsWith('\r') && !process.stderr.isTTY) return
    process.stderr.write(text.startsWith('\r') ? text : `${text}\n`)
  },
  signal: gone.signal,
})
process.exitCode = code
process.stdin.unref?.()
