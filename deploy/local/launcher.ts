/**
 * The whole service on one machine: the stack, a control plane, processors, accounts. Used by `make run` and by the tests, which need
 * the same real parts. Writes nothing outside of the stack's folder; `run.ts` adds the stack file and the tour.
 */
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { isFolder, type BucketPlace } from './bucket.ts'
import { cacheFolder, compileCacheFolder } from './cache.ts'
import { startChild, UP_MS, waitUntilUp } from './child.ts'
import { freePort, usablePort } from './ports.ts'
import { superviseService, type Service } from './service.ts'
import { openStack, type Stack, type StackOptions } from './stack.ts'

const run = promisify(execFile)
const ROOT = join(import.meta.dirname, '..', '..')

export type Key = { api_key: string; api_secret: string }
export type Account = Key & { account_id: string; read_only?: Key }

export type Launched = {
  /** Starts a new control plane on the same port, after the first was stopped. */
  startControlPlane(): Promise<Service>
  /** Starts one more control plane, on its own port. */
  addControlPlane(): Promise<{ service: Service; apiUrl: string }>
  stack: Stack
  apiUrl: string
  metricsUrls: string[]
  controlPlane: Service
  processors: Service[]
  env: Record<string, string>
  createAccount(name: string, type: 'developer' | 'professional' | 'enterprise', readOnly?: boolean): Promise<Account>
  /** Path of a link that signs an owner of the account in to the console, once. */
  signInPath(accountId: string, email: string): Promise<string>
  addProcessor(): Promise<Service>
  close(): Promise<void>
}

export type LaunchOptions = StackOptions & {
  processors: number
  /** Port of the API; a free one is used if it is taken or not given. */
  port?: number
  prefix?: string
  env?: Record<string, string>
  /** For the processors only. */
  processorEnv?: Record<string, string>
  say: (line: string) => void
  onChange?: () => void
}

const healthy = (url: string) => async (): Promise<boolean> => (await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(3000) })).ok

/** If the bucket is a folder, pipelines name the folder themselves; the services only need to allow it. */
const bucketSettings = (bucket: BucketPlace): Record<string, string> =>
  isFolder(bucket)
    ? { BUCKET_FOLDERS: fileURLToPath(bucket.name) }
    : { BUCKET_ENDPOINT: bucket.endpoint, BUCKET_ACCESS_KEY: bucket.access_key, BUCKET_SECRET_KEY: bucket.secret_key }

/** Starts everything and waits until it is ready. If a part fails, what was started is stopped again. */
export async function launch(options: LaunchOptions): Promise<Launched> {
  const { say, onChange = () => {} } = options
  const stack = await openStack(options)
  const services: Service[] = []
  const closeAll = async () => {
    // Services before the stack: processors still commit their round.
    await Promise.allSettled(services.map((service) => service.stop()))
    await stack.close()
  }
  try {
    const port = await usablePort(options.port)
    const env: Record<string, string> = {
      KAFKA_BROKERS: stack.kafkaBrokers.join(','),
      DATABASE_URL: stack.databaseUrl,
      REDIS_URL: stack.redisUrl,
      SCHEMA_REGISTRY_URL: stack.registryUrl,
      DPS_PREFIX: options.prefix ?? 'dps',
      DPS_CACHE: cacheFolder(),
      // Kept with the data: API keys and secrets stored there would be useless without them.
      JWT_KEYS: await stack.home.recall('JWT_KEYS', () => `local:${randomBytes(32).toString('hex')}`),
      SECRET_HASH_KEY: await stack.home.recall('SECRET_HASH_KEY', () => randomBytes(32).toString('hex')),
      CONSOLE_PLAIN_HTTP: 'true',
      SECRETS_KEYS: await stack.home.recall('SECRETS_KEYS', () => `local:${randomBytes(32).toString('base64')}`),
      ...bucketSettings(stack.bucket),
      ...(stack.warehouseUrl ? { WAREHOUSE_URL: stack.warehouseUrl } : {}),
      // Every part of a local stack is on loopback.
      ALLOW_PRIVATE_ADDRESSES: 'true',
      // One person's stack: tables and objects are where they are said to be.
      WAREHOUSE_PER_ACCOUNT: 'false',
      BUCKET_PER_ACCOUNT: 'false',
      ADOPTABLE_TOPICS: '*',
      NODE_COMPILE_CACHE: compileCacheFolder(),
      NODE_ENV: 'production',
      ...options.env,
    }
    const metricsUrls: string[] = []
    const open = async (name: string, main: string, own: Record<string, string>): Promise<Service> => {
      const metricsPort = await freePort()
      const serviceEnv = { ...env, ...own, METRICS_PORT: String(metricsPort) }
      const start = () =>
        startChild(
          {
            name,
            command: process.execPath,
            args: ['--no-warnings', join(ROOT, main)],
            cwd: ROOT,
            env: serviceEnv,
            logFile: join(stack.home.logs, `${name}.log`),
          },
          stack.home.reaper,
        )
      const first = await start()
      const service = superviseService(name, first, start, say, onChange)
      services.unshift(service)
      await waitUntilUp(first, healthy(`http://127.0.0.1:${metricsPort}`))
      metricsUrls.push(`http://127.0.0.1:${metricsPort}/metrics`)
      return service
    }
    const startControlPlane = () => open('control-plane', 'services/control-plane/main.ts', { PORT: String(port) })
    /** Runs a script of the control plane as an operator does; its output is one line of JSON. */
    async function operatorScript(script: string, ...parameters: string[]): Promise<unknown> {
      const file = join(ROOT, 'services', 'control-plane', 'operator', script)
      const { stdout } = await run(process.execPath, ['--no-warnings', file, ...parameters], {
        env: { ...process.env, ...env },
        cwd: ROOT,
        timeout: UP_MS,
      })
      return JSON.parse(stdout)
    }
    const controlPlane = await startControlPlane()
    const processors: Service[] = []
    let started = 0
    const addProcessor = async () => {
      const own = options.processorEnv ?? {}
      const service = await open(`processor-${++started}`, 'services/processor/main.ts', own)
      processors.push(service)
      return service
    }
    await Promise.all(Array.from({ length: options.processors }, addProcessor))
    return {
      stack,
      apiUrl: `http://127.0.0.1:${port}`,
      metricsUrls,
      controlPlane,
      processors,
      env,
      startControlPlane,
      async addControlPlane() {
        const own = await freePort()
        const service = await open('control-plane-2', 'services/control-plane/main.ts', { PORT: String(own) })
        return { service, apiUrl: `http://127.0.0.1:${own}` }
      },
      addProcessor,
      async createAccount(name, type, readOnly = false) {
        return (await operatorScript('create-account.ts', name, type, ...(readOnly ? ['--read-only'] : []))) as Account
      },
      async signInPath(accountId, email) {
        return ((await operatorScript('sign-in-link.ts', accountId, email)) as { path: string }).path
      },
      close: closeAll,
    }
  } catch (error) {
    await closeAll()
    throw error
  }
}
