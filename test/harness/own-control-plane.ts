/** A control plane of a test's own, beside the launched one, on the same stack and with other settings. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { eventually, service } from './client.ts'

const ROOT = join(import.meta.dirname, '..', '..')

export type OwnControlPlane = { apiUrl: string; close(): Promise<void> }

export async function startControlPlane(port: number, settings: Record<string, string>): Promise<OwnControlPlane> {
  const apiUrl = `http://127.0.0.1:${port}`
  const child = spawn(process.execPath, ['--no-warnings', join(ROOT, 'services', 'control-plane', 'main.ts')], {
    env: { ...process.env, ...service().env, METRICS_PORT: '0', ...settings, PORT: String(port) },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  // Otherwise only the client would see that an internal error occurred.
  createInterface(child.stdout).on('line', (line) => {
    if (line.includes('"level":50')) process.stderr.write(`${line}\n`)
  })
  const ended = once(child, 'exit')
  const answers = async () => (await fetch(`${apiUrl}/v1/sign-in-methods`)).ok
  await eventually(`a control plane answers at ${apiUrl}`, answers, 60_000).catch((error: unknown) => {
    child.kill('SIGKILL')
    throw error
  })
  return {
    apiUrl,
    async close() {
      child.kill('SIGTERM')
      await ended
    },
  }
}
