/** A schema registry as a local process: Apicurio Registry, which speaks the Confluent API at /apis/ccompat/v7. */
import { execFile } from 'node:child_process'
import { mkdir } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { cached, sha256OfFile } from './cache.ts'
import { startChild, waitUntilUp, type Child } from './child.ts'
import { portOf, type Home } from './home.ts'
import { findJava, runMaven } from './java.ts'
import { freePort } from './ports.ts'
import { registrySettings } from './settings.ts'

const run = promisify(execFile)
const VERSION = '3.3.3'
/** sha-256 of the release archive on Maven Central. */
const ARCHIVE_SHA256 = '8bc6751c76d963734224b01d5e7f84ccb3cb61c87d3bd77c36c35f10a5cbed63'

/** The unpacked release, from the cache. */
export async function registryFolder(): Promise<string> {
  return cached(`apicurio-${VERSION}`, async (target) => {
    process.stdout.write(`downloading Apicurio Registry ${VERSION} (159 MB, only once)\n`)
    // It does not resolve as an ordinary dependency, because the archive is an attached artifact with a classifier.
    await runMaven(['dependency:get', `-Dartifact=io.apicurio:apicurio-registry-app:${VERSION}:tar.gz:all`, '-Dtransitive=false'])
    const repository = process.env.MAVEN_REPOSITORY ?? join(homedir(), '.m2', 'repository')
    const archive = join(repository, 'io', 'apicurio', 'apicurio-registry-app', VERSION, `apicurio-registry-app-${VERSION}-all.tar.gz`)
    if ((await sha256OfFile(archive)) !== ARCHIVE_SHA256) throw new Error(`${archive} does not match its sha-256: refusing to run it`)
    await run('tar', ['xzf', archive, '-C', target])
  })
}

/** Starts a registry with its own H2 file store. Throws with its last log lines if it is not up within 90 s. */
export async function startRegistry(home: Home): Promise<{ url: string; child: Child }> {
  const java = await findJava(21)
  const app = await registryFolder()
  const folder = join(home.folder, 'registry')
  await mkdir(folder, { recursive: true })
  const port = await portOf(home, 'schema registry')
  const settings = Object.entries(registrySettings(join(folder, 'schemas'))).map(([name, value]) => `-D${name}=${value}`)
  const child = await startChild(
    {
      name: 'schema registry',
      command: java,
      args: [
        '-Xmx256m',
        '-XX:TieredStopAtLevel=1',
        '-XX:+UseSerialGC',
        '-Dquarkus.http.host=127.0.0.1',
        `-Dquarkus.http.port=${port}`,
        // Otherwise the management port opens on all addresses.
        '-Dquarkus.management.host=127.0.0.1',
        `-Dquarkus.management.port=${await freePort()}`,
        ...settings,
        '-jar',
        join(app, 'quarkus-run.jar'),
      ],
      cwd: folder,
      logFile: join(home.logs, 'registry.log'),
    },
    home.reaper,
  )
  const url = `http://127.0.0.1:${port}/apis/ccompat/v7`
  await waitUntilUp(child, async () => (await fetch(`${url}/subjects`, { signal: AbortSignal.timeout(2000) })).ok).catch(async (error) => {
    await child.stop()
    throw error
  })
  return { url, child }
}
