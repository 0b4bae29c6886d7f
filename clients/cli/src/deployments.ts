/** Who runs a SmartModule that was just deployed: a new version changes no pipeline by itself. */
import type { Context } from './context.ts'

/** A module of many pipelines is not asked of each. */
const ASKED_MAX = 50

/** Says which pipelines stay at another version. What the key may not read is left out. */
export async function noteOlder({ dps, io }: Context, name: string, version: string): Promise<void> {
  try {
    const using = (await dps.lineage.get()).pipelines.filter(({ modules }) => modules.includes(name))
    for (const { id, name: pipeline } of using.slice(0, ASKED_MAX)) {
      const { processors } = await dps.pipelines.get(id)
      const older = processors.filter((step) => step.name === name && step.version !== version).map((step) => step.version)
      if (older.length > 0)
        io.note(`the pipeline ${pipeline} stays at ${[...new Set(older)].join(' and ')} until it is changed, or its manifest applied`)
    }
    if (using.length > ASKED_MAX)
      io.note(`${using.length - ASKED_MAX} more pipelines use ${name}: dps describe smartmodule ${JSON.stringify(name)}`)
  } catch {
    // It is deployed, whatever becomes of this: the key may not read pipelines, or the service is gone meanwhile.
  }
}
