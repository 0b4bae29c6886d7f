/** How a command ends: exit codes, and what is said of an error. */
import { InvalidArgumentError } from 'commander'
import { ApiError, ConnectionError, WriteError } from '../../typescript/src/index.ts'

/** `refused`: the request is wrong (4xx). `away`: unreachable, over its rate, or failing (429, 5xx). */
export const EXIT = { done: 0, differs: 1, refused: 2, away: 3, interrupted: 130 } as const

/** The command did what it was asked, and what it found is no success: a difference, a failed job. */
export class Differs extends Error {}

/** The command line itself is wrong. */
export class Misused extends Error {}

export type Told = { code: string; message: string; status?: number; request_id?: string; details?: readonly object[] }

/** What is said of the error, and the exit code. */
export function outcomeOf(error: unknown): { exit: number; told: Told } {
  if (error instanceof Differs) return { exit: EXIT.differs, told: { code: 'differs', message: error.message } }
  if (error instanceof Misused) return { exit: EXIT.refused, told: { code: 'usage', message: error.message } }
  if (error instanceof WriteError) {
    const { exit, told } = outcomeOf(error.cause)
    const { message, details } = error
    return { exit, told: { ...told, message, ...(details.length > 0 ? { details } : {}) } }
  }
  if (error instanceof ConnectionError) return { exit: EXIT.away, told: { code: 'unreachable', message: error.message } }
  if (error instanceof ApiError) {
    const { code, message, status, details, requestId } = error
    const told = { code, message, status, ...(requestId ? { request_id: requestId } : {}), ...(details.length > 0 ? { details } : {}) }
    return { exit: status === 429 || status >= 500 ? EXIT.away : EXIT.refused, told }
  }
  return { exit: EXIT.refused, told: { code: 'failed', message: error instanceof Error ? error.message : String(error) } }
}

/** A whole number from `least` on, of an option. */
export const integer =
  (least: number) =>
  (text: string): number => {
    if (/^\d{1,15}$/.test(text) && Number(text) >= least) return Number(text)
    throw new InvalidArgumentError(`must be a whole number from ${least}`)
  }

/** The error as text: its message, and each detail on a line of its own. */
export function textOf({ message, details = [], request_id }: Told): string {
  const lines = details.map((detail) => {
    const { path = '', message: what = '', line, column } = detail as { path?: string; message?: string; line?: number; column?: number }
    return `  ${path}${line === undefined ? '' : ` line ${line}, column ${column ?? 1}`}: ${what}`
  })
  return [`dps: ${message}`, ...lines, ...(request_id ? [`  request ${request_id}`] : [])].join('\n')
}
