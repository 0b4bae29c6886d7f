/** A container engine for tests where none answers: Debian's podman as root, listening on loopback, with its storage in the cache. */
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { cacheFolder } from '../../deploy/local/cache.ts'
import { openReaper, startChild, waitUntilUp } from '../../deploy/local/child.ts'
import { installPackages } from '../../deploy/local/debian-packages.ts'
import { freePort } from '../../deploy/local/ports.ts'
import { buildImages } from './images.ts'

const run = promisify(execFile)
/** crun refuses the hybrid cgroups of our machines; runc accepts them. */
const PACKAGES = ['podman', 'runc', 'conmon', 'containernetworking-plugins', 'iptables', 'uidmap', 'busybox-static']
/** Part of the storage's name: another number rebuilds the images. */
const IMAGES_VERSION = 3

const CONFIGURATION = `[engine]
cgroup_manager="cgroupfs"
events_logger="file"
runtime="runc"
[containers]
default_ulimits=["nofile=10000:10000","nproc=10000:10000"]
`

async function installPodman(say: (line: string) => void): Promise<void> {
  const isThere = await run('podman', ['--version']).then(
    () => true,
    () => false,
  )
  if (isThere) return
  say('installing podman (Debian packages, once)')
  await installPackages(PACKAGES)
}

/** Starts the engine. `env` is what a client needs to find it. */
export async function openPodman(say: (line: string) => void): Promise<{ env: Record<string, string>; close(): Promise<void> }> {
  if (process.getuid?.() !== 0)
    throw new Error('no container engine answers, and setting up podman here needs root: start Docker or Podman, or set DOCKER_HOST')
  await installPodman(say)
  const storage = join(cacheFolder(), `podman-${IMAGES_VERSION}`)
  const folder = await mkdtemp(join(tmpdir(), 'dps-podman-'))
  await mkdir(storage, { recursive: true })
  const configuration = join(folder, 'containers.conf')
  await writeFile(configuration, CONFIGURATION)
  const env = { CONTAINERS_CONF: configuration }
  const flags = ['--root', storage, '--runroot', `/run/dps-podman-${IMAGES_VERSION}`, '--storage-driver', 'vfs', '--runtime', 'runc']
  const podman = async (args: string[]): Promise<string> => {
    const { stdout } = await run('podman', [...flags, ...args], { env: { ...process.env, ...env }, timeout: 300_000, maxBuffer: 64 << 20 })
    return stdout
  }
  await buildImages(podman, folder, say)
  const port = await freePort()
  const reaper = openReaper()
  reaper.watchFolder(folder)
  const child = await startChild(
    {
      name: 'podman',
      command: 'podman',
      args: [...flags, 'system', 'service', '--time=0', `tcp://127.0.0.1:${port}`],
      env,
      logFile: join(folder, 'podman.log'),
    },
    reaper,
  )
  await waitUntilUp(child, async () => (await fetch(`http://127.0.0.1:${port}/_ping`, { signal: AbortSignal.timeout(2000) })).ok)
  return {
    env: { DOCKER_HOST: `tcp://127.0.0.1:${port}`, TESTCONTAINERS_RYUK_DISABLED: 'true' },
    async close() {
      // Only stopped containers are removed: running ones belong to a concurrent test run.
      await podman(['container', 'prune', '--force']).catch(() => {})
      await child.stop()
      await rm(folder, { recursive: true, force: true })
      reaper.close()
    },
  }
}
