/** Redis as a local process: `redis-server` from the PATH, or, as root on Debian, from its package, which is then installed. */
import { execFile } from 'node:child_process'
import { mkdir } from 'node:fs/promises'
import { promisify } from 'node:util'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { installPackages } from './debian-packages.ts'
import { startChild, startRestartable, waitUntilUp, type Child } from './child.ts'
import { portOf, type Home } from './home.ts'
import { redisArguments } from './settings.ts'

const run = promisify(execFile)

async function installed(): Promise<boolean> {
  return run('redis-server', ['--version']).then(
    () => true,
    () => false,
  )
}

async function ensureRedis(): Promise<void> {
  if (await installed()) return
  if (process.getuid?.() === 0) {
    process.stdout.write('installing redis-server (Debian package, only once)\n')
    await installPackages(['redis-server']).catch(() => {})
    if (await installed()) return
  }
  throw new Error(
    'no container engine answers and redis-server is not on the PATH: install Redis 7 (apt-get install redis-server, brew install redis), or set REDIS_URL',
  )
}

/** Starts Redis. Throws an error that says how to install it. */
export async function startRedis(home: Home): Promise<{ url: string; readonly child: Child; restart(): Promise<void> }> {
  await ensureRedis()
  const port = await portOf(home, 'Redis')
  const folder = join(home.folder, 'redis')
  await mkdir(folder, { recursive: true })
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, ...redisArguments(home.isKept)]
  const logFile = join(home.logs, 'redis.log')
  const start = () => startChild({ name: 'Redis', command: 'redis-server', args, cwd: folder, logFile }, home.reaper)
  const part = await startRestartable(start)
  const url = `redis://127.0.0.1:${port}`
  await waitUntilUp(part.child, () => answers(url)).catch(async (error) => {
    await part.child.stop()
    throw error
  })
  return Object.assign(part, { url })
}

async function answers(url: string): Promise<boolean> {
  const client = new Redis(url, { lazyConnect: true, retryStrategy: () => null, maxRetriesPerRequest: 0 })
  client.on('error', () => {})
  try {
    await client.connect()
    return (await client.ping()) === 'PONG'
  } finally {
    client.disconnect()
  }
}
