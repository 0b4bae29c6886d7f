/** A fault that can be done to the arena. Each has its own file, and each leaves the arena able to go on. */
import { childrenOf } from '../../harness/child-processes.ts'
import { sleep, type Arena } from '../arena.ts'
import type { Random } from '../random.ts'

export type Catastrophe = {
  name: string
  /** Longest duration in milliseconds: it is not started if it could outlast the load. */
  takesMs: number
  run(arena: Arena, random: Random): Promise<string>
}

/** A runner of any processor; undefined when none is alive. */
export function pickRunner(arena: Arena, random: Random): { pid: number; processor: string } | undefined {
  const runners = arena.launched.processors.flatMap((processor) =>
    childrenOf(processor.pid() ?? 0).map((pid) => ({ pid, processor: processor.name })),
  )
  return runners.length === 0 ? undefined : random.pick(runners)
}

/** Stops processes (SIGSTOP) for `ms`; then they go on, unaware that time has passed, unless they were killed meanwhile. */
export async function freeze(pids: readonly number[], ms: number): Promise<void> {
  for (const pid of pids) signal(pid, 'SIGSTOP')
  await sleep(ms)
  for (const pid of pids) signal(pid, 'SIGCONT')
}

function signal(pid: number, what: NodeJS.Signals): void {
  try {
    process.kill(pid, what)
  } catch {
    // It was killed meanwhile.
  }
}
