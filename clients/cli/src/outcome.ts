/** How a command ends: exit codes, and what is said of an error. */
import { ApiError, ConnectionError, WriteError } from '../../typescript/src/index.ts'

/** `refused`: the request is wrong (4xx). `away`: unreachable, over its rate, or failing (429, 5xx). */
export const EXIT = { done: 0, differs: 1, refused: 2, away: 3, interrupted: 130 } as const

/** The command did what it was asked, and what it found is no success: a difference, a failed job. */
export class Differs extends Error {}

/** Ctrl-C, where the terminal gives it as a key. */
export class Interrupted extends Error {}

type Refusal = { code: string; status?: number }

/** The command line itself is wrong; or, with a `refusal`, what the service would refuse in the same way was seen before it was asked. */
export class Misused extends Error {
  readonly refusal: Refusal
  constructor(message: string, refusal: Refusal = { code: 'usage' }) {
    super(message)
    this.refusal = refusal
  }
}

/** Tells the file, and perhaps the line and column, of what stands at a path of a request. */
export type LocationOf = (path: string) => { file: string; line?: number; column?: number } | undefined

/** The service refuses what is in files. */
export class FaultyFiles extends Error {
  readonly locationOf: LocationOf
  declare readonly cause: ApiError
  constructor(locationOf: LocationOf, cause: ApiError) {
    super(cause.message, { cause })
    this.locationOf = locationOf
  }
}
/** Where requests hold a source. */
const CODE = /\/source\/code$/
/** Where requests hold what is in a manifest. */
export const IN_MANIFEST = /^\/manifest(?=\/)/

/** The work of a request that holds what is in files. Throws FaultyFiles where the service refuses it. */
export const ofFiles = <T>(locationOf: LocationOf, work: Promise<T>): Promise<T> =>
  work.catch((error: unknown) => {
    throw error instanceof ApiError ? new FaultyFiles(locationOf, error) : error
  })

/** The file of the source that stands at a path, if one does; `fileOf` knows it by the part of the request that holds the source. */
export const sourceLocation =
  (fileOf: (part: string) => string | undefined): LocationOf =>
  (path) => {
    const file = CODE.test(path) ? fileOf(path.replace(CODE, '')) : undefined
    return file === undefined ? undefined : { file }
  }

/** The work of a request that holds this file's source. Throws FaultyFiles where the service refuses it. */
export const ofSource = <T>(file: string, work: Promise<T>): Promise<T> =>
  ofFiles(
    sourceLocation(() => file),
    work,
  )

/** The service refuses records of a file, or of standard input; `lineOf` tells the line of a record by its index. */
export class FaultyInput extends Error {
  readonly file: string | undefined
  readonly lineOf: (record: number) => number | undefined
  declare readonly cause: WriteError
  constructor(file: string | undefined, lineOf: FaultyInput['lineOf'], cause: WriteError) {
    super(cause.message, { cause })
    this.file = file
    this.lineOf = lineOf
  }
}
/** Where requests hold a record. */
const RECORD = /^\/records\/(\d+)/

/** The work that writes records of an input. Throws FaultyInput where the service refuses them. */
export const ofInput = <T>(file: string | undefined, lineOf: FaultyInput['lineOf'], work: Promise<T>): Promise<T> =>
  work.catch((error: unknown) => {
    throw error instanceof WriteError ? new FaultyInput(file, lineOf, error) : error
  })

/** What the service advises, as the command line has it. */
const inDps = (text: string): string => text.replaceAll('name it in "replace" to', 'pass --replace with its name to')

export type Told = { code: string; message: string; status?: number; request_id?: string; details?: readonly object[] }

/** What is said of the error, and the exit code. */
export function outcomeOf(error: unknown): { exit: number; told: Told } {
  if (error instanceof Differs) return { exit: EXIT.differs, told: { code: 'differs', message: error.message } }
  if (error instanceof Misused) return { exit: EXIT.refused, told: { ...error.refusal, message: error.message } }
  if (error instanceof WriteError) {
    const { exit, told } = outcomeOf(error.cause)
    const { message, details } = error
    return { exit, told: { ...told, message, ...(details.length > 0 ? { details } : {}) } }
  }
  if (error instanceof FaultyInput) {
    const { exit, told } = outcomeOf(error.cause)
    const details = error.cause.details.map((each) => {
      const line = error.lineOf(Number(RECORD.exec(each.path)?.[1]))
      return line === undefined ? each : { ...each, line, ...(error.file === undefined ? {} : { file: error.file }) }
    })
    return { exit, told: { ...told, ...(details.length > 0 ? { details } : {}) } }
  }
  if (error instanceof FaultyFiles) {
    const { exit, told } = outcomeOf(error.cause)
    const details = told.details?.map((each) => ({ ...each, ...('path' in each ? error.locationOf(String(each.path)) : {}), ...each }))
    return { exit, told: { ...told, ...(details ? { details } : {}) } }
  }
  if (error instanceof ConnectionError) return { exit: EXIT.away, told: { code: 'unreachable', message: error.message } }
  if (error instanceof ApiError) {
    const { code, status, requestId } = error
    const message = inDps(error.message)
    const details = error.details.map((each) => ({ ...each, message: inDps(each.message) }))
    const told = { code, message, status, ...(requestId ? { request_id: requestId } : {}), ...(details.length > 0 ? { details } : {}) }
    return { exit: status === 429 || status >= 500 ? EXIT.away : EXIT.refused, told }
  }
  return { exit: EXIT.refused, told: { code: 'failed', message: error instanceof Error ? error.message : String(error) } }
}

type Fault = { path?: string; message?: string; line?: number; column?: number; file?: string }

/** The message without what the details say again, a line each. */
function headOf(message: string, details: readonly Fault[]): string {
  const said = details.map(({ path = '', message: what = '' }) => (path === '' ? what : `${path}: ${what}`))
  const marked = said.reduce((text, each) => (each === '' ? text : text.replace(each, () => '\u0000')), message)
  return marked.replace(SAID, '')
}
/** Where details stood. */
// eslint-disable-next-line no-control-regex
const SAID = /:? *\u0000(?:; \u0000)*(?: \(and \d+ more\))?/

/** The error as text: its message, and each detail on a line of its own. */
export function textOf({ message, details = [], request_id }: Told): string {
  const lines = (details as readonly Fault[]).map(({ path = '', message: what = '', line, column = 1, file }) => {
    if (line === undefined) return path === '' ? `  ${what}` : `  ${path}: ${what}`
    const member = path.replace(RECORD, '')
    if (RECORD.test(path)) return `  ${file === undefined ? `line ${line}` : `${file}:${line}`}: ${member && `${member}: `}${what}`
    if (file === undefined) return `  ${path} line ${line}, column ${column}: ${what}`
    const own = CODE.test(path) ? '' : path.replace(IN_MANIFEST, '')
    return `  ${file}:${line}:${column}: ${own && `${own}: `}${what}`
  })
  return [`dps: ${headOf(message, details)}`, ...lines, ...(request_id ? [`  request ${request_id}`] : [])].join('\n')
}
