/**
 * Child processes of the local stack: each is started in its own session (so that Ctrl-C reaches only the launcher, which then stops
 * them), logged to a file, and stopped by pid. Nothing here knows what the children are.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { createWriteStream, readFileSync } from 'node:fs'
import { once } from 'node:events'
import { inTime } from '../../shared/waiting/in-time.ts'

/** A started process; `exited` settles once, with the exit code (or -1 after a signal). */
export type Child = { name: string; pid: number; logFile: string; exited: Promise<number>; stop(graceMs?: number): Promise<void> }

export type ChildOptions = {
  name: string
  command: string
  args: string[]
  env?: Record<string, string | undefined>
  cwd?: string
  uid?: number
  gid?: number
  logFile: string
}

/** Starts a process and registers it with the reaper. Throws if the command cannot be executed. The caller owns it and calls `stop`. */
export async function startChild(options: ChildOptions, reaper: Reaper): Promise<Child> {
  const log = createWriteStream(options.logFile, { flags: 'a' })
  const process_ = spawn(options.command, options.args, {
    env: { ...process.env, ...options.env },
    cwd: options.cwd,
    uid: options.uid,
    gid: options.gid,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  await Promise.race([once(process_, 'spawn'), once(process_, 'error').then(([error]) => Promise.reject(error))])
  process_.stdout!.pipe(log, { end: false })
  process_.stderr!.pipe(log, { end: false })
  const pid = process_.pid!
  reaper.watch(pid)
  const exited = new Promise<number>((resolve) => process_.once('exit', (code) => resolve(code ?? -1)))
  // Its own children end by themselves, unless they stand still.
  void exited.then(() => killGroup(pid))
  void exited.then(() => reaper.forget(pid))
  // Its last output may come after its exit.
  process_.once('close', () => log.end())
  return { name: options.name, pid, logFile: options.logFile, exited, stop: (graceMs = 10_000) => stopProcess(process_, exited, graceMs) }
}

/** A child that can be stopped and started again on its data; `child` is the current one. */
export async function startRestartable(start: () => Promise<Child>): Promise<{ readonly child: Child; restart(): Promise<void> }> {
  let child = await start()
  return {
    get child() {
      return child
    },
    async restart() {
      await child.stop()
      child = await start()
    },
  }
}

/** Kills what is left of a process's group (kill(2): a negative pid). */
function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // Nothing is left of it.
  }
}

async function stopProcess(child: ChildProcess, exited: Promise<number>, graceMs: number): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGTERM')
  const timer = setTimeout(() => child.kill('SIGKILL'), graceMs)
  await exited
  clearTimeout(timer)
}

/** The last lines of a child's log, for the error that says why it failed. */
export function logTail(child: { logFile: string }, lines = 15): string {
  try {
    return readFileSync(child.logFile, 'utf8').trimEnd().split('\n').slice(-lines).join('\n')
  } catch {
    return '(no log)'
  }
}

/** Only what hangs reaches it: a first start compiles the built-in SmartModules, and a slow machine starts a broker in minutes. */
export const UP_MS = 300_000

/** Polls `probe` until it returns true; throws with the child's last log lines if it exits or does not come up. */
export async function waitUntilUp(child: Child, probe: () => Promise<boolean>): Promise<void> {
  let exitCode: number | undefined
  void child.exited.then((code) => (exitCode = code))
  const deadline = Date.now() + UP_MS
  while (Date.now() < deadline) {
    if (exitCode !== undefined) throw new Error(`${child.name} stopped with code ${exitCode} while starting:\n${logTail(child)}`)
    if (await probe().catch(() => false)) return
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  throw new Error(`${child.name} did not come up within ${UP_MS / 1000} s:\n${logTail(child)}`)
}

/** The promise's value, or an error with this message if it takes longer. The work itself goes on: the caller handles its late result. */
export const deadline = <T>(ms: number, work: Promise<T>, message: string): Promise<T> => inTime(work, ms, () => new Error(message))

/**
 * A shell that outlives the launcher: when its standard input ends (the launcher has died, for whatever reason), it stops the processes
 * and removes the folders that were registered. On an orderly stop it gets `done` before, and does nothing.
 */
export type Reaper = { watch(pid: number): void; forget(pid: number): void; watchFolder(path: string): void; pid: number; close(): void }

const REAPER_SCRIPT = `
pids=" "; folders=""
while read -r verb value; do
  case $verb in
    watch) pids="$pids$value " ;;
    forget) pids=$(printf '%s' "$pids" | sed "s/ $value / /") ;;
    folder) folders="$folders
$value" ;;
    done) exit 0 ;;
  esac
done
for pid in $pids; do kill -TERM "$pid" 2>/dev/null; done
tries=0
while [ $tries -lt 50 ]; do
  alive=""; for pid in $pids; do kill -0 "$pid" 2>/dev/null && alive=1; done
  [ -z "$alive" ] && break
  tries=$((tries + 1)); sleep 0.1
done
for pid in $pids; do kill -KILL "-$pid" 2>/dev/null || kill -KILL "$pid" 2>/dev/null; done
printf '%s\n' "$folders" | while read -r folder; do [ -n "$folder" ] && rm -rf "$folder"; done
`

/** Starts the reaper. It must be closed after everything it watches has stopped. */
export function openReaper(): Reaper {
  const shell = spawn('sh', ['-c', REAPER_SCRIPT], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] })
  shell.stdin.on('error', () => {})
  shell.unref()
  const say = (line: string) => void shell.stdin.write(`${line}\n`)
  return {
    pid: shell.pid!,
    watch: (pid) => say(`watch ${pid}`),
    forget: (pid) => say(`forget ${pid}`),
    watchFolder: (path) => say(`folder ${path}`),
    close() {
      say('done')
      shell.stdin.end()
    },
  }
}
