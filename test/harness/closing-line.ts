/** The plain closing line that any CI can read: `N passed, N failed, N skipped`. */
import type { Reporter, TestModule } from 'vitest/node'

export default class ClosingLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    const counts = { passed: 0, failed: unhandledErrors.length, skipped: 0 }
    for (const module of modules) {
      // A file that does not even load, or whose preparation fails, has failed without a test that says so.
      const tests = [...module.children.allTests()]
      if (module.state() === 'failed' && !tests.some((test) => test.result().state === 'failed')) counts.failed++
      for (const test of module.children.allTests()) {
        const { state } = test.result()
        if (state === 'passed' || state === 'failed' || state === 'skipped') counts[state]++
      }
    }
    // After vitest's own summary.
    process.once('exit', () => process.stdout.write(`\n${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped\n`))
  }
}
