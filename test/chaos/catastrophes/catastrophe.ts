/** What can happen to the arena. Each is a file; each leaves the arena able to go on. */
import type { Arena } from '../arena.ts'
import type { Random } from '../random.ts'

export type Catastrophe = {
  name: string
  /** Longest that it takes, in milliseconds: none begins that would not end within the load. */
  takesMs: number
  run(arena: Arena, random: Random): Promise<string>
}
