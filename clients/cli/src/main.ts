/** The process of `dps`. */
import { runProgram } from './program.ts'

const gone = new AbortController()
process.on('SIGINT', () => {
  // A second Ctrl-C does not wait.
  if (gone.signal.aborted) process.exit(130)
  gone.abort()
})
// As with other programs, a reader that has seen enough ends it.
process.stdout.on('error', () => process.exit(0))

const code = await runProgram(process.argv.slice(2), {
  env: process.env,
  stdin: process.stdin,
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
