/** Supervises one service of the launcher: if it dies, says so and restarts it with backoff, unless it is being stopped. */
import type { Child } from './child.ts'

export type Service = { name: string; pid(): number | undefined; stop(): Promise<void> }

const BACKOFF_MIN_MS = 300
const BACKOFF_MAX_MS = 10_000
/** A service that lived this long was up: it did not end because it could not start. */
const STEADY_MS = 3000

export function superviseService(
  name: string,
  first: Child,
  start: () => Promise<Child>,
  say: (line: string) => void,
  onChange: () => void,
): Service {
  let child: Child | undefined = first
  let stopping = false
  let backoffMs = BACKOFF_MIN_MS
  let wake: (() => void) | undefined

  const watch = (async () => {
    while (!stopping) {
      if (child) {
        const startedAt = Date.now()
        const code = await child.exited
        if (stopping) return
        if (Date.now() - startedAt > STEADY_MS) backoffMs = BACKOFF_MIN_MS
        say(`${name} (pid ${child.pid}) stopped with code ${code}; starting it again in ${backoffMs} ms`)
        child = undefined
      }
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, backoffMs)
        wake = () => {
          clearTimeout(timer)
          resolve()
        }
      })
      backoffMs = Math.min(backoffMs * 2, BACKOFF_MAX_MS)
      if (stopping) return
      child = await start().catch((error: unknown) => void say(`${name} can't be started: ${String(error)}`))
      if (stopping) return child?.stop()
      if (!child) continue
      say(`${name} is back (pid ${child.pid})`)
      onChange()
    }
  })()

  return {
    name,
    pid: () => child?.pid,
    async stop() {
      stopping = true
      wake?.()
      await child?.stop()
      await watch
    },
  }
}
