/** A fault that can be done to the arena. Each has its own file, and each leaves the arena able to go on. */
import { sleep, type Arena } from '../arena.ts'
import type { Random } from '../random.ts'

export type Catastrophe = {
  name: string
  /** Longest duration in milliseconds: it is not started if it could outlast the load. */
  takesMs: number
  run(arena: Arena, random: Random): Promise<string>
}

/** Stops a process (SIGSTOP) for `ms`; then it goes on, unaware that time has passed, unless it was killed meanwhile. */
export async function freeze(pid: number, ms: number): Promise<void> {
  process.kill(pid, 'SIGSTOP')
  await sleep(ms)
  try {
    process.kill(pid, 'SIGCONT')
  } catch {
    // It was killed meanwhile.
  }
}
