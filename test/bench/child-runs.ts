/** A contender in its own process: for each line (an output topic) on its standard input it runs once and prints one JSON line. */
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { resources } from './resources.ts'

/** Inside the contender: prints the run's outcome. */
export function say(outcome: { records: number; seconds: number }): void {
  process.stdout.write(`${JSON.stringify(outcome)}\n`)
}

let lines: AsyncIterator<string> | undefined
/** Inside the contender: the output topic of the next run, undefined when the benchmark is over. */
export async function nextOutput(): Promise<string | undefined> {
  lines ??= createInterface({ input: process.stdin })[Symbol.asyncIterator]()
  const line = await lines.next()
  return line.done ? undefined : line.value
}

export type Run = { records: number; seconds: number; cpuSeconds: number; rssMib: number }
export type Contender = { run(output: string): Promise<Run>; close(): void }

/** Starts a contender's script with this Node. */
export function startContender(script: string, args: string[]): Contender {
  const child = spawn(process.execPath, ['--no-warnings', script, ...args], { stdio: ['pipe', 'pipe', 'inherit'] })
  const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return {
    async run(output) {
      const before = resources(child.pid!)
      child.stdin.write(`${output}\n`)
      const { value, done } = await answers.next()
      if (done) throw new Error(`${script} ended without an answer`)
      const outcome = JSON.parse(value) as { records: number; seconds: number }
      const after = resources(child.pid!)
      return { ...outcome, cpuSeconds: after.cpuSeconds - before.cpuSeconds, rssMib: after.rssMib }
    },
    close: () => child.stdin.end(),
  }
}
