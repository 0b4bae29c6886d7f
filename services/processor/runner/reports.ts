/** Tells the supervisor what this runner's tasks do: changes at once, progress every two seconds, nothing twice. */
import { keyOfReport, type ObservedTask } from '../../../shared/model/observed.ts'
import type { FromRunner } from '../channel/protocol.ts'

export type Reports = {
  /** Something changed: report soon. */
  notify(): void
  /** A task is gone: the last assignment that it was wanted in, and its last report. */
  ended(assignment: number, last: ObservedTask): void
  close(): void
}

const PROGRESS_MS = 2000
const SOON_MS = 50
/** About the size of one report, so that no line becomes too long. */
const REPORT_BYTES_MAX = 1 << 20

export function openReports(send: (value: FromRunner) => void, observed: () => ObservedTask[]): Reports {
  /** By task, the last report without its time. */
  const sent = new Map<string, string>()
  let soon: NodeJS.Timeout | undefined
  let ended: { assignment: number; last: ObservedTask }[] = []

  function report(): void {
    clearTimeout(soon)
    soon = undefined
    const changed: ObservedTask[] = []
    const keys = new Set<string>()
    for (const task of observed()) {
      const key = keyOfReport(task)
      const fingerprint = JSON.stringify({ ...task, at: '' })
      keys.add(key)
      if (sent.get(key) === fingerprint) continue
      sent.set(key, fingerprint)
      changed.push(task)
    }
    for (const key of sent.keys()) if (!keys.has(key)) sent.delete(key)
    const gone = ended
    ended = []
    let [tasks, bytes]: [ObservedTask[], number] = [[], 0]
    for (const task of changed) {
      tasks.push(task)
      bytes += sent.get(keyOfReport(task))!.length
      if (bytes < REPORT_BYTES_MAX) continue
      send({ type: 'report', tasks, ended: [] })
      ;[tasks, bytes] = [[], 0]
    }
    if (tasks.length > 0) send({ type: 'report', tasks, ended: [] })
    for (const each of gone) send({ type: 'report', tasks: [], ended: [each] })
  }
  const timer = setInterval(report, PROGRESS_MS)

  return {
    notify() {
      soon ??= setTimeout(report, SOON_MS)
    },
    ended(assignment, last) {
      ended.push({ assignment, last })
      soon ??= setTimeout(report, SOON_MS)
    },
    close() {
      clearInterval(timer)
      report()
    },
  }
}
