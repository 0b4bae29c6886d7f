/**
 * Vitest's runner with a clock: once `TEST_UNTIL` (milliseconds since 1970) has passed, the files that are left are not loaded, and the
 * closing line names them. CI ends by the clock however slow its machine is; without the variable everything runs.
 */
import { test, TestRunner } from 'vitest'

/** The one test, a skipped one, that such a file has in place of its own. */
export const OUT_OF_TIME = 'the time of the run was over'

/** Tests the oracle of the chaos tests, no part of the service: the one to leave out where a run's time ends. */
export const LAST_FILE = 'test/chaos/mutations.test.ts'
/** It takes eight minutes on a slow machine; the other late ones take two at most. */
const LAST_FILE_MS = 13 * 60_000

const untilMs = Number(process.env.TEST_UNTIL || Infinity)

export default class TimedRunner extends TestRunner {
  override importFile(...[path, source]: Parameters<TestRunner['importFile']>): unknown {
    const isLate = Date.now() > untilMs - (path.endsWith(LAST_FILE) ? LAST_FILE_MS : 0)
    if (source === 'collect' && isLate) return test.skip(OUT_OF_TIME, () => {})
    return super.importFile(path, source)
  }
}
