/** Builds the console into `services/console/dist`, where the control plane looks for it when it starts. Takes less than a second. */
import { join } from 'node:path'

export async function buildConsole(): Promise<void> {
  // Loaded here, because starting services alone does not need it.
  const { build } = await import('vite')
  const folder = join(import.meta.dirname, '..', '..', 'services', 'console')
  await build({ configFile: join(folder, 'vite.config.ts'), logLevel: 'warn' })
}
