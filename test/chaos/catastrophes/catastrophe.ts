/** What can happen to the arena. Each is a file; each leaves the arena able to go on. */
import { sleep, type Arena } from '../arena.ts'
import type { Random } from '../random.ts'

export type Catastrophe = {
  name: string
  /** Longest that it takes, in milliseconds: none begins that would not end within the load. */
  takesMs: number
  run(arena: Arena, random: Random): Promise<string>
}

/** Stops a process (SIGSTOP) for a while; it goes on believing that no time has passed, unless it was killed meanwhile. */
export async function freeze(pid: number, ms: number): Promise<void> {
  process.kill(pid, 'SIGSTOP')
  await sleep(ms)
  try {
    process.kill(pid, 'SIGCONT')
  } catch {
    // It was killed meanwhile.
  }
}
