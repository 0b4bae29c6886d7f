/**
 * Where a stack lives: the folder of its parts' data, the folder of its logs, and what it must find again at its next start (ports,
 * passwords, keys, accounts). Tests and benchmarks have a temporary one; `make run` keeps its own in `.local`.
 */
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openReaper, type Reaper } from './child.ts'
import { freePort, usablePort } from './ports.ts'

export type Home = {
  /** Data of the parts, a folder each. */
  folder: string
  /** Logs of the parts and of the services. */
  logs: string
  reaper: Reaper
  /** True where the data outlive the stack. */
  isKept: boolean
  /** The value of an earlier start, if there was one. */
  known<T>(name: string): T | undefined
  /** The value of an earlier start, else what `make` makes, which is remembered. */
  recall<T>(name: string, make: () => T | Promise<T>): Promise<T>
  /** After everything has stopped: a temporary home is removed. */
  close(): Promise<void>
}

/** The port of the earlier start where it is free, so that addresses stay; else a free one. */
export async function portOf(home: Home, name: string): Promise<number> {
  return usablePort(await home.recall(`port of ${name}`, freePort))
}

/** A home that is removed when it is closed, or by the reaper when the process is gone. */
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

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** Throws a sentence when another start holds the folder. The lock is a file with the holder's pid; a dead holder's is taken over. */
async function lock(root: string): Promise<string> {
  const file = join(root, 'data.lock')
  for (let attempt = 0; attempt < 2; attempt++) {
    try {
      await writeFile(file, String(process.pid), { flag: 'wx' })
      return file
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
      const holder = Number(readFileSync(file, 'utf8'))
      // A container gives the same pid to every start.
      if (holder > 0 && holder !== process.pid && isAlive(holder))
        throw new HomeInUse(`another make run (pid ${holder}) uses ${root}`, { cause: error })
      await rm(file, { force: true })
    }
  }
  throw new HomeInUse(`another make run uses ${root}`)
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
    // Passwords and keys: for its owner alone.
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
