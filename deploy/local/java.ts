/** Finds a Java runtime of at least a given version: JAVA_HOME, the PATH, then the usual JVM folders. */
import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
const JVM_FOLDERS = ['/usr/lib/jvm', '/Library/Java/JavaVirtualMachines', '/opt/java', '/opt/jdk']

async function versionOf(java: string): Promise<number | undefined> {
  try {
    const { stderr } = await run(java, ['-version'], { timeout: 20_000 })
    const match = /version "(\d+)(?:\.(\d+))?/.exec(stderr)
    if (!match) return undefined
    return match[1] === '1' ? Number(match[2]) : Number(match[1])
  } catch {
    return undefined
  }
}

function candidates(): string[] {
  const found = process.env.JAVA_HOME ? [join(process.env.JAVA_HOME, 'bin', 'java')] : []
  found.push('java')
  for (const folder of JVM_FOLDERS) {
    try {
      for (const name of readdirSync(folder).sort())
        found.push(join(folder, name, 'bin', 'java'), join(folder, name, 'Contents', 'Home', 'bin', 'java'))
    } catch {
      // The folder does not exist on this system.
    }
  }
  return found
}

/** Path of a Java of at least version `minimum`. Throws an error that says what to install. */
export async function findJava(minimum: number): Promise<string> {
  for (const java of candidates()) {
    const version = await versionOf(java)
    if (version !== undefined && version >= minimum) return java
  }
  throw new Error(
    `no container engine answers and no Java ${minimum} or newer was found: install Docker (or Podman), or a JDK ${minimum}+ and Maven (set JAVA_HOME if Java is in an unusual folder)`,
  )
}

/** Runs Maven quietly. Throws an error that says what to install, or has Maven's own output. */
export async function runMaven(args: string[]): Promise<void> {
  try {
    await run('mvn', ['-q', '-B', ...args], { timeout: 600_000, maxBuffer: 64 << 20 })
  } catch (error) {
    const { code, stdout } = error as { code?: unknown; stdout?: string }
    if (code === 'ENOENT')
      throw new Error('no container engine answers and Maven is not on the PATH: install Docker (or Podman), or a JDK 21+ and Maven', {
        cause: error,
      })
    throw new Error(`Maven failed:\n${(stdout ?? '').slice(-2000)}`, { cause: error })
  }
}
