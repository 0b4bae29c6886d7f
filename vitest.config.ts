import { defineConfig } from 'vitest/config'
import TestSequence from './test/harness/test-sequence.ts'

const kinds = ['unit', 'property', 'contract', 'integration', 'console', 'house', 'chaos']
// `make test STACK=containers` alone has an engine for these.
if (process.env.STACK === 'containers') kinds.push('containers')

// The files of a worker run one after the other and share one launched service; most of a test is waiting.
export default defineConfig({
  test: {
    include: [`test/{${kinds.join(',')}}/**/*.test.ts`],
    globalSetup: ['test/harness/global-setup.ts'],
    maxWorkers: Number(process.env.TEST_SERVICES ?? 1),
    // Only what hangs reaches them: a slow machine takes a multiple of what a quick one does, and may become slow later.
    testTimeout: 900_000,
    hookTimeout: 600_000,
    pool: 'forks',
    runner: './test/harness/timed-runner.ts',
    sequence: { sequencer: TestSequence },
    reporters: ['default', './test/harness/closing-line.ts'],
  },
})
