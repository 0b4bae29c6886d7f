/** Gives back the memory that starting a process or a thread has taken: most of it is garbage by the time that all modules are loaded. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

const AFTER_MS = 1000

type Collect = (options: { type: 'major'; flavor: 'last-resort' }) => void

/**
 * Collects this thread's heap once, a second from now, unless it has work by then: V8 alone would wait for the next allocations, which do
 * not come. Needs no flag at the start of the process.
 */
export function releaseMemoryWhenIdle(isIdle: () => boolean): void {
  const timer = setTimeout(() => {
    if (!isIdle()) return
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as Collect
    collect({ type: 'major', flavor: 'last-resort' })
  }, AFTER_MS)
  timer.unref()
}
