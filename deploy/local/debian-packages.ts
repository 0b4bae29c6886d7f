/** Installs Debian packages as root, for what a machine lacks. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const run = promisify(execFile)
const UPDATE_MS = 180_000
const DOWNLOAD_MS = 300_000
/** Podman and what it needs take 13 s on two cores: this is for a machine that hangs, not for a slow one. */
const INSTALL_MS = 600_000

/**
 * Installs `packages` and what they depend on. Only the download is cut off by a short timeout: a dpkg that is killed at work refuses
 * everything until `dpkg --configure -a` has run. Where one was killed, that is done first. Throws what apt-get says.
 */
export async function installPackages(packages: readonly string[]): Promise<void> {
  // RUNLEVEL=1 keeps a package from starting a server of its own on the default port.
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' }
  const apt = (args: string[], timeout: number) =>
    run('apt-get', ['-o', 'DPkg::Lock::Timeout=300', '-o', 'Acquire::Retries=3', ...args], { env, timeout, maxBuffer: 64 << 20 })
  const install = (args: string[], timeout: number) => apt(['install', '-y', '--no-install-recommends', ...args, ...packages], timeout)
  // Older lists may do as well.
  await apt(['update'], UPDATE_MS).catch(() => {})
  await install(['--download-only'], DOWNLOAD_MS).catch(async (error: unknown) => {
    if (!String(error).includes('dpkg --configure -a')) throw error
    await run('dpkg', ['--configure', '-a'], { env, timeout: INSTALL_MS, maxBuffer: 64 << 20 })
    await install(['--download-only'], DOWNLOAD_MS)
  })
  await install([], INSTALL_MS)
}
