/** Launches a service for each worker of the test run (stack, control plane, two processors, accounts), unless the tests need none. */
import { join, relative } from 'node:path'
import type { TestProject } from 'vitest/node'
import type { BucketPlace } from '../../deploy/local/bucket.ts'
import { buildWebPages } from '../../deploy/local/web-pages.ts'
import { launch, type Account, type Launched } from '../../deploy/local/launcher.ts'

export type Shared = {
  apiUrl: string
  brokers: string[]
  registryUrl: string
  databaseUrl: string
  redisUrl: string
  bucket: BucketPlace
  warehouseUrl: string
  /** Where the services write their logs. */
  logFolder: string
  metricsUrls: string[]
  env: Record<string, string>
  accounts: { enterprise: Account; other: Account; developer: Account; professional: Account }
  pids: { controlPlane: number; processors: number[] }
}

declare module 'vitest' {
  export interface ProvidedContext {
    /** By worker; none where no selected test needs one. */
    services: Shared[]
  }
}

const NEEDS_SERVICE = /^test\/(contract|integration|console)\//
const ROOT = join(import.meta.dirname, '..', '..')

async function launchFor(worker: number): Promise<{ launched: Launched; shared: Shared }> {
  const launched = await launch({
    processors: 2,
    say: (line: string) => process.stdout.write(`${line}\n`),
    prefix: `test${process.pid}-${worker}`,
    env: { LOG_LEVEL: 'info', TOKEN_REQUESTS_PER_MINUTE: '2000' },
  })
  const [enterprise, other, developer, professional] = await Promise.all([
    launched.createAccount('Enterprise', 'enterprise', true),
    launched.createAccount('Other', 'enterprise'),
    launched.createAccount('Developer', 'developer'),
    launched.createAccount('Professional', 'professional'),
  ])
  const shared = {
    apiUrl: launched.apiUrl,
    brokers: launched.stack.kafkaBrokers,
    registryUrl: launched.stack.registryUrl,
    databaseUrl: launched.stack.databaseUrl,
    redisUrl: launched.stack.redisUrl,
    bucket: launched.stack.bucket,
    warehouseUrl: launched.stack.warehouseUrl ?? '',
    logFolder: launched.stack.home.logs,
    metricsUrls: launched.metricsUrls,
    env: launched.env,
    accounts: { enterprise, other, developer, professional },
    pids: { controlPlane: launched.controlPlane.pid()!, processors: launched.processors.map((processor) => processor.pid()!) },
  }
  return { launched, shared }
}

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const asked = (process.env.TEST_PATHS ?? '').split('\n').filter((path) => path !== '')
  const files = (await project.globTestFiles(asked.length > 0 ? asked : undefined)).testFiles.map((file) => relative(ROOT, file))
  const services: Shared[] = []
  const running: Launched[] = []
  const close = () => Promise.all(running.map((launched) => launched.close()))
  const stop = () => void close().then(() => process.exit(1))
  if (files.some((file) => NEEDS_SERVICE.test(file))) {
    await buildWebPages()
    process.once('SIGINT', stop)
    process.once('SIGTERM', stop)
    // One after the other: the first fills the cache.
    for (let worker = 1; worker <= project.vitest.config.maxWorkers; worker++) {
      const { launched, shared } = await launchFor(worker).catch(async (error: unknown) => {
        await close()
        throw error
      })
      running.push(launched)
      services.push(shared)
    }
  }
  project.provide('services', services)
  return async () => {
    process.off('SIGINT', stop)
    process.off('SIGTERM', stop)
    await close()
  }
}
