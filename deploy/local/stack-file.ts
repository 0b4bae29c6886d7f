/** `.local/stack.json`: addresses, keys and pids of the running service. Written by rename, readable only by its owner, removed on stop. */
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isAlive } from './home.ts'
import type { Account, Key, Launched } from './launcher.ts'

export type TourState = 'running' | 'done' | 'off'
export type Accounts = { enterprise: Account; developer: Key; professional: Key }
export type StackFile = {
  path: string
  write(launched: Launched, accounts: Accounts, tour: TourState): Promise<void>
  remove(): Promise<void>
}

/** What `make run` keeps: this file, data and logs. */
export const LOCAL_FOLDER = process.env.LOCAL_FOLDER ?? join(import.meta.dirname, '..', '..', '.local')

const isRunning = (pid: unknown): boolean => typeof pid === 'number' && isAlive(pid)

/** The local owner, who is signed in by a link alone until a password is set. */
export const LOCAL_OWNER = 'owner@localhost'

const defaultPath = (): string => process.env.STACK_FILE ?? join(LOCAL_FOLDER, 'stack.json')

/** The settings of the control plane that `make run` has started in this checkout; undefined where none runs. */
export function runningEnvironment(): { apiUrl: string; accountId: string; env: Record<string, string> } | undefined {
  try {
    const { pids, api_url, account_id, environment } = JSON.parse(readFileSync(defaultPath(), 'utf8')) as {
      pids?: { launcher?: number }
      api_url: string
      account_id: string
      environment: Record<string, string>
    }
    return isRunning(pids?.launcher) ? { apiUrl: api_url, accountId: account_id, env: environment } : undefined
  } catch {
    return undefined
  }
}

/** A second start in the same checkout gets its own file; the first one keeps `stack.json`. */
export function openStackFile(): StackFile {
  let path = defaultPath()
  if (existsSync(path)) {
    try {
      const { pids } = JSON.parse(readFileSync(path, 'utf8')) as { pids?: { launcher?: number } }
      if (isRunning(pids?.launcher) && pids?.launcher !== process.pid) path = path.replace(/\.json$/, `-${process.pid}.json`)
    } catch {
      // Not a stack file, which is never half written because it is renamed whole. It is overwritten.
    }
  }
  const keyOf = ({ api_key, api_secret }: Key): Key => ({ api_key, api_secret })
  return {
    path,
    async write({ stack, apiUrl, metricsUrls, controlPlane, processors, env }, { enterprise, developer, professional }, tour) {
      const content = {
        api_url: apiUrl,
        ...keyOf(enterprise),
        account_id: enterprise.account_id,
        accounts: { developer: keyOf(developer), professional: keyOf(professional), read_only: enterprise.read_only },
        tour,
        kafka_brokers: stack.kafkaBrokers,
        registry_url: stack.registryUrl,
        database_url: stack.databaseUrl,
        redis_url: stack.redisUrl,
        bucket: stack.bucket,
        warehouse_url: stack.warehouseUrl,
        metrics_urls: metricsUrls,
        // For an operator's scripts (`operator-script.ts`).
        environment: env,
        pids: {
          launcher: process.pid,
          control_plane: controlPlane.pid(),
          processor: processors.map((processor) => processor.pid()),
          ...stack.pids,
        },
      }
      await mkdir(LOCAL_FOLDER, { recursive: true })
      const temporary = `${path}.${process.pid}.tmp`
      await writeFile(temporary, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600 })
      await rename(temporary, path)
    },
    remove: () => rm(path, { force: true }),
  }
}
