/** Files that are named on the command line, and why one can't be read. */
import { readFile } from 'node:fs/promises'
import { Misused } from './outcome.ts'

const WHY: Record<string, string> = {
  ENOENT: 'there is no such file',
  EISDIR: 'it is a folder',
  ENOTDIR: 'a part of the path is no folder',
  EACCES: 'it is not readable for this user',
}

/** Why a file can't be read, without the names of system calls. */
export function whyUnreadable(error: unknown): string {
  const { code = '', message } = error instanceof Error ? (error as NodeJS.ErrnoException) : { message: String(error) }
  return WHY[code] ?? message
}

/** The file's bytes. Throws Misused, saying that `at` names it. */
export async function readable(path: string, at: string): Promise<Buffer> {
  return readFile(path).catch((error: unknown) => {
    throw new Misused(`${at}: ${path} can't be read: ${whyUnreadable(error)}`)
  })
}

/** The file's text. Throws Misused, saying that `at` names it, also where it is not UTF-8: letters would be lost without a word. */
export async function readableText(path: string, at: string): Promise<string> {
  return textIn(await readable(path, at), `${at}: ${path}`)
}

/** The bytes as text, without a byte order mark. Throws Misused, with `what` they are, where they are not UTF-8. */
export function textIn(bytes: Buffer, what: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new Misused(`${what} is not UTF-8`)
  }
}
