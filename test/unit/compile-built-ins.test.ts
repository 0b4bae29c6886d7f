/** The first start of a control plane compiles the built-ins in its own thread, watched by the thread that ends a process that stands still. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { BUILT_INS, builtInSmartModules } from '../../shared/smartmodule/catalogue/catalogue.ts'

it('lets other work of the thread run between two modules', { timeout: 120_000 }, async () => {
  const cold = await mkdtemp(join(tmpdir(), 'dps-cold-cache-'))
  const startedAt = performance.now()
  let [beatAt, heldMs] = [startedAt, 0]
  const beat = () => {
    heldMs = Math.max(heldMs, performance.now() - beatAt)
    beatAt = performance.now()
  }
  const timer = setInterval(beat, 1)
  try {
    await builtInSmartModules(
      cold,
      BUILT_INS.filter(({ name }) => ['dps/sample', 'dps/flatten', 'dps/explode'].includes(name)),
    )
    beat()
    expect(heldMs / (performance.now() - startedAt)).toBeLessThan(0.8)
  } finally {
    clearInterval(timer)
    await rm(cold, { recursive: true, force: true })
  }
})
