/** `make run FRESH=1`: removes the data of earlier starts, including containers' volumes. */
import { readdir, realpath, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Home } from './home.ts'

/** Empties a home and opens it again. Nothing of its stack may be running. */
export async function discardHome(home: Home, reopen: () => Promise<Home>): Promise<Home> {
  const volumes = home.known<string>('id of the volumes')
  if (volumes !== undefined) {
    const { findContainerEngine, removeLeftovers, removeVolumes } = await import('./containers.ts')
    const engine = await findContainerEngine()
    // Containers of a start that was killed still use the volumes.
    if (engine) await removeLeftovers(engine, home)
    if (engine) await removeVolumes(engine, volumes)
    else process.stdout.write(`no container engine answers: the volumes dps-${volumes}-* of earlier starts stay\n`)
  }
  for (const name of await readdir(home.folder)) {
    const path = join(home.folder, name)
    // The Postgres data may be a link to a folder elsewhere that the Postgres user can reach.
    const target = await realpath(path).catch(() => undefined)
    if (target !== undefined) await rm(target, { recursive: true, force: true })
    await rm(path, { recursive: true, force: true })
  }
  await home.close()
  return reopen()
}
