/** What a command waits for, said on a terminal until the work has ended. */
import type { Io } from './context.ts'

const EVERY_MS = 1000

/** The work, during which a terminal shows what is being done, and for how many seconds already. */
export async function during<T>({ note }: Pick<Io, 'note'>, what: string, work: Promise<T>): Promise<T> {
  const from = performance.now()
  note(`\r${what} …`)
  const timer = setInterval(() => note(`\r${what} … ${Math.round((performance.now() - from) / 1000)} s`), EVERY_MS)
  try {
    return await work
  } finally {
    clearInterval(timer)
    note('\r')
  }
}
