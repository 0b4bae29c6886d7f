/** A contender as a process of its own: it waits for «go» on standard input, runs once, prints one JSON line, and waits again. */
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { resources } from './resources.ts'

/** Inside the contender: prints the run's outcome. */
export function say(outcome: { records: number; seconds: number }): void {
  process.stdout.write(`${JSON.stringify(outcome)}\n`)
}

let lines: AsyncIterator<string> | undefined
/** Inside the contender: true for each «go», false when the benchmark is over. */
export async function waitForGo(): Promise<boolean> {
  lines ??= createInterface({ input: process.stdin })[Symbol.asyncIterator]()
  return !(await lines.next()).done
}

export type Run = { records: number; seconds: number; cpuSeconds: number; rssMib: number }
export type Contender = { run(): Promise<Run>; close(): void }

/** Starts a contender's script with this Node. */
export function startContender(script: string, args: string[]): Contender {
  const child = spawn(process.execPath, ['--no-warnings', script, ...args], { stdio: ['pipe', 'pipe', 'inherit'] })
  const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return {
    async run() {
      const before = resources(child.pid!)
      child.stdin.write('go\n')
      const { value, done } = await answers.next()
      if (done) throw new Error(`${script} ended without an answer`)
      const outcome = JSON.parse(value) as { records: number; seconds: number }
      const after = resources(child.pid!)
      return { ...outcome, cpuSeconds: after.cpuSeconds - before.cpuSeconds, rssMib: after.rssMib }
    },
    close: () => child.stdin.end(),
  }
}
