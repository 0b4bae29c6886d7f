/** Samples that are kept with a SmartModule: records, and what is to come out of them. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { parseAsWritten, type ModuleTest } from '../../typescript/src/index.ts'
import { Misused } from './outcome.ts'

const Sample = z.looseObject({ records: z.array(z.unknown()) })

const WHY: Record<string, string> = {
  ENOENT: 'there is no such file',
  EISDIR: 'it is a folder',
  ENOTDIR: 'a part of the path is no folder',
  EACCES: 'it is not readable for this user',
}

/** Why a file can't be read, without the names of system calls. */
function whyUnreadable(error: unknown): string {
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

/** The samples of a file, or of every `.json` file of a folder. Throws Misused, saying that `at` names them. */
export async function samplesAt(path: string, at: string): Promise<ModuleTest[]> {
  const names = await readdir(path).catch(() => undefined)
  const files = names
    ? names
        .filter((name) => name.endsWith('.json'))
        .sort()
        .map((name) => join(path, name))
    : [path]
  const samples: unknown[] = []
  for (const file of files) {
    const text = await readableText(file, at)
    try {
      samples.push(...[parseAsWritten(text)].flat())
    } catch (error) {
      throw new Misused(`${at}: ${file} is not JSON: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
  if (!z.array(Sample).safeParse(samples).success)
    throw new Misused(`${at}: ${path} must hold samples, each with records, out and failures`)
  // What else is wrong with them the service says, by its place.
  return samples as ModuleTest[]
}
