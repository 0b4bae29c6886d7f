/** The plain closing lines that any CI can read: what was not run, what failed and why, in short, and `N passed, N failed, N skipped`. */
import { relative } from 'node:path'
import type { Reporter, TestModule } from 'vitest/node'
import { OUT_OF_TIME } from './timed-runner.ts'

const LAST_LINES = 12
const DIFF_LINES = 40
const COLOURS = new RegExp(`${String.fromCharCode(27)}\\[[\\d;]*m`, 'g')

const linesOf = (text: string): string[] => text.replaceAll(COLOURS, '').split('\n')

/** Shortens an error's message: a log quoted in it is long, and its end says why it failed. Beside it what was found, and expected. */
function inShort(errors: readonly { message?: string; diff?: string }[] = []): string {
  const lines = linesOf(errors[0]?.message ?? 'no error')
  const kept = lines.length > LAST_LINES + 1 ? [lines[0], '…', ...lines.slice(-LAST_LINES)] : lines
  const diff = linesOf(errors[0]?.diff ?? '').filter((line) => /^[+-] /.test(line))
  return [...kept, ...diff.slice(0, DIFF_LINES)].map((line) => `  ${line}`).join('\n')
}

export default class ClosingLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly { message: string }[]): void {
    const counts = { passed: 0, failed: unhandledErrors.length, skipped: 0 }
    const notRun: string[] = []
    const failures = unhandledErrors.map((error) => `outside of a test\n${inShort([error])}`)
    for (const module of modules) {
      // A file that does not load, or whose setup fails, has failed without a failed test.
      const tests = [...module.children.allTests()]
      if (module.state() === 'failed' && !tests.some((test) => test.result().state === 'failed')) {
        counts.failed++
        failures.push(`${module.moduleId}\n${inShort(module.errors())}`)
      }
      if (tests.some(({ name }) => name === OUT_OF_TIME)) notRun.push(relative(process.cwd(), module.moduleId))
      for (const test of tests) {
        const { state, errors } = test.result()
        if (state === 'passed' || state === 'failed' || state === 'skipped') counts[state]++
        if (state === 'failed') failures.push(`${test.fullName}\n${inShort(errors)}`)
      }
    }
    // After vitest's own summary.
    process.once('exit', () => {
      if (notRun.length > 0) process.stdout.write(`\nnot run, because ${OUT_OF_TIME}: ${notRun.join(', ')}\n`)
      for (const failure of failures) process.stdout.write(`\nfailed: ${failure}\n`)
      process.stdout.write(`\n${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped\n`)
    })
  }
}
