/** Builds the console and the documentation, which the control plane reads when it starts. Takes some seconds. */
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '..', '..')

export async function buildWebPages(): Promise<void> {
  // Loaded here, because starting services alone does not need them.
  const [{ build }, { buildDocs }] = await Promise.all([import('vite'), import('../../docs/site/build-site.ts')])
  await Promise.all([build({ configFile: join(ROOT, 'services', 'console', 'vite.config.ts'), logLevel: 'warn' }), buildDocs()])
}

if (import.meta.main) await buildWebPages()
