/** How long work holds this thread: in CPU time, because other processes take the machine's processors from it meanwhile. */
import { setImmediate } from 'node:timers/promises'

const cpuMs = (): number => {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

/** What `work` gives, and the longest turn of the event loop until then, in milliseconds. */
export async function longestTurn<T>(work: () => Promise<T>): Promise<{ given: T; longestMs: number }> {
  let isDone = false
  let longestMs = 0
  const watching = (async () => {
    for (let last = cpuMs(); !isDone;) {
      await setImmediate()
      const now = cpuMs()
      longestMs = Math.max(longestMs, now - last)
      last = now
    }
  })()
  try {
    await setImmediate()
    const given = await work()
    // The turn in which the work ended is over then.
    await setImmediate()
    await setImmediate()
    return { given, longestMs }
  } finally {
    isDone = true
    await watching
  }
}

/** What `work` gives, and how long it takes in one piece, in milliseconds. */
export function atOnce<T>(work: () => T): { given: T; ms: number } {
  const from = cpuMs()
  const given = work()
  return { given, ms: cpuMs() - from }
}
