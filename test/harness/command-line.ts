/** `dps` as a process, with the environment's account. */
import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { service } from './client.ts'

const DPS = join(import.meta.dirname, '..', '..', 'clients', 'cli', 'src', 'main.ts')
type Ran = { code: number | null; out: string; err: string }
type Started = { ended: Promise<Ran>; so: () => Ran; interrupt(): void; type(text: string): void; end(): void }

type More = { stdin?: string; env?: Record<string, string>; /** Standard input stays open for what is typed. */ isTyped?: boolean }

/** Starts a command in the folder, which is its home too. */
function startDps(home: string, args: string[], { stdin = '', env = {}, isTyped = false }: More = {}): Started {
  const { apiUrl, accounts } = service()
  const key = { DPS_URL: apiUrl, DPS_API_KEY: accounts.enterprise.api_key, DPS_API_SECRET: accounts.enterprise.api_secret }
  const child = spawn(process.execPath, ['--no-warnings', DPS, ...args], {
    cwd: home,
    env: { PATH: process.env.PATH, HOME: home, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE, ...key, ...env },
  })
  const ran: Ran = { code: null, out: '', err: '' }
  child.stdout.setEncoding('utf8').on('data', (text: string) => (ran.out += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (ran.err += text))
  child.stdin.on('error', () => {})
  if (!isTyped) child.stdin.end(stdin)
  const ended = new Promise<Ran>((resolve) => child.once('close', (code) => resolve({ ...ran, code })))
  return {
    ended,
    so: () => ran,
    interrupt: () => child.kill('SIGINT'),
    type: (text) => void child.stdin.write(text),
    end: () => void child.stdin.end(),
  }
}

/** `dps` in a folder of the file's own, which is removed after its tests. */
export async function useDps() {
  const home = await mkdtemp(join(tmpdir(), 'dps-cli-'))
  afterAll(() => rm(home, { recursive: true, force: true }))
  const start = (args: string[], more?: More) => startDps(home, args, more)
  const dps = (args: string[], more?: More) => start(args, more).ended
  return { home, start, dps, json: <T>({ out }: Ran): T => JSON.parse(out) as T }
}
