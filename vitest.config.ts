import { defineConfig } from 'vitest/config'

// Tests share one launched service; files run one after the other, because the machine that proves them has two cores.
export default defineConfig({
  test: {
    include: ['test/{unit,property,contract,integration,house,chaos}/**/*.test.ts'],
    globalSetup: ['test/harness/global-setup.ts'],
    fileParallelism: false,
    testTimeout: 60_000,
    hookTimeout: 120_000,
    pool: 'forks',
    reporters: ['default', './test/harness/closing-line.ts'],
  },
})
