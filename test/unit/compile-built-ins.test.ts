/** The first start of a control plane compiles the built-ins in its own thread, while the watcher that ends a blocked process runs. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { BUILT_INS, builtInSmartModules } from '../../shared/smartmodule/catalogue/catalogue.ts'
import { timesOf } from '../harness/times-of.ts'

it('lets other work of the thread run between two modules', async () => {
  const cold = await mkdtemp(join(tmpdir(), 'dps-cold-cache-'))
  const some = BUILT_INS.filter(({ name }) => ['dps/sample', 'dps/flatten', 'dps/explode'].includes(name))
  try {
    const { held, all } = await timesOf(() => builtInSmartModules(cold, some))
    expect(held / all).toBeLessThan(0.8)
  } finally {
    await rm(cold, { recursive: true, force: true })
  }
})
