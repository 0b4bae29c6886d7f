/** `make run` as a child process of a test, in its own folder. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export type StackFile = {
  api_url: string
  api_key: string
  api_secret: string
  account_id: string
  warehouse_url: string
  bucket: { endpoint: string; name: string }
  pids: { launcher: number }
}

export type MakeRun = {
  output(): string
  stackFile(): StackFile
  /** Resolves once it serves; rejects with its output when it ends first. */
  serving(): Promise<void>
  /** Ends it, by Ctrl-C unless another signal is given, and returns its exit code. */
  end(signal?: NodeJS.Signals): Promise<number | null>
}

export function makeRun(folder: string, env: Record<string, string>): MakeRun {
  const run = join(import.meta.dirname, '..', '..', 'deploy', 'local', 'run.ts')
  const child = spawn(process.execPath, ['--no-warnings', run], {
    // As a user would start it, without the test run's own stack.
    env: { ...process.env, STACK: '', LOCAL_FOLDER: folder, PORT: '0', NODE_ENV: '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  const exited = once(child, 'exit').then(([code]) => code as number | null)
  child.stdout.on('data', (part) => (output += String(part)))
  child.stderr.on('data', (part) => (output += String(part)))
  return {
    output: () => output,
    stackFile: () => JSON.parse(readFileSync(join(folder, 'stack.json'), 'utf8')) as StackFile,
    async serving() {
      while (!output.includes('serving;') || !existsSync(join(folder, 'stack.json'))) {
        if (child.exitCode !== null || child.signalCode !== null) throw new Error(`make run ended:\n${output}`)
        await new Promise((resolve) => setTimeout(resolve, 200))
      }
    },
    async end(signal = 'SIGINT') {
      child.kill(signal)
      return exited
    },
  }
}
