import { defineConfig } from 'vitest/config'

const kinds = ['unit', 'property', 'contract', 'integration', 'console', 'house', 'chaos']
// `make test STACK=containers` alone has an engine for these.
if (process.env.STACK === 'containers') kinds.push('containers')

// Tests share one launched service; files run one after the other, because the machine that proves them has two cores.
export default defineConfig({
  test: {
    include: [`test/{${kinds.join(',')}}/**/*.test.ts`],
    globalSetup: ['test/harness/global-setup.ts'],
    fileParallelism: false,
    // Only what hangs reaches them: a slow machine takes a multiple of what a quick one does, and may become slow later.
    testTimeout: 900_000,
    hookTimeout: 600_000,
    pool: 'forks',
    reporters: ['default', './test/harness/closing-line.ts'],
  },
})
