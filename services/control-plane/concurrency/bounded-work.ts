/** Work on the main thread whose duration depends on an account's input; it is cut off at a time limit. */
import { createContext, Script } from 'node:vm'
import { unavailable } from '../service-error.ts'

export class TookTooLong extends Error {}

const context = createContext({ work: undefined })
const script = new Script('work()')

const isTimeout = (error: unknown): boolean =>
  typeof error === 'object' && error !== null && 'code' in error && error.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT'

/** CPU time of this thread, in milliseconds. */
export function ownCpuMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

/**
 * What the work returns, or throws. Throws TookTooLong when it takes more than `ms`, and ServiceError `unavailable` when it was given less
 * than half of that by a busy machine. It ends wherever it is, also within a regular expression, so nothing that it has changed may be used
 * any more. A call costs about 0.1 ms.
 */
export function runBounded<T>(work: () => T, ms: number): T {
  let result: { value: T } | undefined
  const before = ownCpuMs()
  context.work = () => {
    result = { value: work() }
  }
  try {
    script.runInContext(context, { timeout: ms })
  } catch (error) {
    if (!isTimeout(error)) throw error
    const late = new TookTooLong(`it takes more than ${ms} ms`)
    throw ownCpuMs() - before < ms / 2 ? unavailable('enough CPU time', late) : late
  } finally {
    context.work = undefined
  }
  if (!result) throw new Error('the work has not ended')
  return result.value
}
