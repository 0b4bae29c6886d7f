/**
 * A stack's home: the folder of its parts' data, the folder of its logs, and the values that it needs again at its next start (ports,
 * passwords, keys, accounts). Tests and benchmarks use a temporary home; `make run` keeps its own in `.local`.
 */
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openReaper, type Reaper } from './child.ts'
import { freePort, usablePort } from './ports.ts'

export type Home = {
  /** Data of the parts, one folder each. */
  folder: string
  /** Logs of the parts and of the services. */
  logs: string
  reaper: Reaper
  /** True if the data outlive the stack. */
  isKept: boolean
  /** The value of an earlier start, if there was one. */
  known<T>(name: string): T | undefined
  /** The value of an earlier start, else the result of `make`, which is remembered. */
  recall<T>(name: string, make: () => T | Promise<T>): Promise<T>
  /** To be called after everything has stopped. Removes a temporary home. */
  close(): Promise<void>
}

/** The port of the earlier start if it is free, so that addresses stay the same; else a free one. */
export async function portOf(home: Home, name: string): Promise<number> {
  return usablePort(await home.recall(`port of ${name}`, freePort))
}

/** A home that is removed when it is closed, or by the reaper if this process dies. */
export async function openTemporaryHome(): Promise<Home> {
  const folder = await mkdtemp(join(tmpdir(), 'dps-stack-'))
  const reaper = openReaper()
  reaper.watchFolder(folder)
  return {
    ...temporaryHomeAt(folder, reaper),
    async close() {
      await rm(folder, { recursive: true, force: true, maxRetries: 5 })
      reaper.close()
    },
  }
}

/** A home in a folder that the caller owns and removes. */
export function temporaryHomeAt(folder: string, reaper: Reaper): Home {
  return { folder, logs: folder, reaper, isKept: false, known: () => undefined, recall: async (_, make) => make(), close: async () => {} }
}

/** Whether the process is there; one of another user can't be signalled, and is. */
export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}

/** Throws HomeInUse if another start holds the folder. The lock is a file with the holder's pid; a dead holder's lock is taken over. */
async function lock(root: string): Promise<string> {
  const file = join(root, 'data.lock')
  for (let attempt = 0; attempt < 2; attempt++) {
    try {
      await writeFile(file, String(process.pid), { flag: 'wx' })
      return file
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
      const holder = Number(readFileSync(file, 'utf8'))
      // In a container every start may have the same pid.
      if (holder > 0 && holder !== process.pid && isAlive(holder))
        throw new HomeInUse(`another "make run" (pid ${holder}) is using ${root}`, { cause: error })
      await rm(file, { force: true })
    }
  }
  throw new HomeInUse(`another "make run" is using ${root}`)
}

/** Another start holds the folder. */
export class HomeInUse extends Error {}

/** The home of `make run` below `root`: data in `data`, logs in `logs`. Throws HomeInUse. */
export async function openKeptHome(root: string): Promise<Home> {
  await mkdir(root, { recursive: true })
  const lockFile = await lock(root)
  const folder = join(root, 'data')
  const logs = join(root, 'logs')
  await mkdir(folder, { recursive: true })
  await mkdir(logs, { recursive: true })
  const file = join(folder, 'memory.json')
  const memory: Record<string, unknown> = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {}
  let saving = Promise.resolve()
  const save = async () => {
    // It holds passwords and keys: only its owner may read it.
    await writeFile(`${file}.tmp`, `${JSON.stringify(memory, null, 2)}\n`, { mode: 0o600 })
    await rename(`${file}.tmp`, file)
  }
  const reaper = openReaper()
  return {
    folder,
    logs,
    reaper,
    isKept: true,
    known: <T>(name: string) => memory[name] as T | undefined,
    async recall<T>(name: string, make: () => T | Promise<T>) {
      if (memory[name] === undefined) {
        memory[name] = await make()
        saving = saving.then(save)
        await saving
      }
      return memory[name] as T
    },
    async close() {
      await rm(lockFile, { force: true })
      reaper.close()
    },
  }
}
