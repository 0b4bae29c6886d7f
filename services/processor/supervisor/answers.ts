/** Answers to what a runner asks for, one by one: each may have megabytes, and is to have left before the next one is made. */
import { setTimeout as sleep } from 'node:timers/promises'

export type AnswersOptions<Need> = {
  answer(need: Need): void
  /** Resolves once the operating system has all that was sent. */
  flushed(): Promise<void>
  /** A runner asks for one thing at a time: this one floods its supervisor. */
  onFlood(reason: string): void
}

const WAITING_MAX = 100
/** So that a runner that asks without end takes little of its supervisor's time. */
const PAUSE_MS = 5

/** Returns what a request is handed to. */
export function createAnswers<Need>({ answer, flushed, onFlood }: AnswersOptions<Need>): (need: Need) => void {
  let waiting = 0
  let last = Promise.resolve()
  return (need) => {
    if (++waiting > WAITING_MAX) return onFlood(`more than ${WAITING_MAX} requests at once`)
    last = last.then(async () => {
      answer(need)
      await flushed()
      await sleep(PAUSE_MS)
      waiting--
    })
  }
}
