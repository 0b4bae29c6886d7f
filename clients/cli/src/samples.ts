/** Samples that are kept with a SmartModule: records, and what is to come out of them. */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { parseAsWritten, type ModuleTest } from '../../typescript/src/index.ts'
import { Misused } from './outcome.ts'
import { readableText } from './readable-files.ts'

const Sample = z.looseObject({ records: z.array(z.unknown()) })

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
