/** How an operator's script begins and ends where something is missing: with a sentence, not with a stack trace. */
import { reasonOf } from '../../../shared/errors/reason-of.ts'

const end = (message: string, code: number): never => {
  process.stderr.write(`${message}\n`)
  process.exit(code)
}

/** The settings that `load` reads. Missing or wrong settings, and any later error, end the process with a sentence that names them. */
export function operatorSettings<T>(load: () => T): T {
  process.on('uncaughtException', (error) => end(reasonOf(error), 1))
  try {
    return load()
  } catch (error) {
    const names = [...reasonOf(error).matchAll(/^ {2}(\w+):/gm)].map(([, name]) => name)
    return end(
      `the control plane's environment is needed, and ${names.join(', ')} ${names.length === 1 ? 'is' : 'are'} missing or wrong there (docs/operating/settings.md); \`make run\` prints the link and the keys of a local service`,
      2,
    )
  }
}
