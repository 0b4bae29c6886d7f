/** A set as a manifest: what is by default is left out. */
import type { ShownManifest } from '../../../shared/api/manifests.ts'
import { ON_ERROR_DEFAULT } from '../../../shared/model/policies.ts'
import { STREAM_DEFAULTS } from '../../../shared/api/streams.ts'
import { isDeepStrictEqual } from 'node:util'
import { LIMITS } from '../../../shared/model/limits.ts'
import { ServiceError } from '../service-error.ts'
import type { Queryable } from '../store/database.ts'
import { listMemberSizes } from '../store/manifests.ts'
import { findVersion, getBinary, type ListedSmartModule } from '../store/smartmodules.ts'
import type { PipelineRow } from '../store/pipelines.ts'
import type { StreamRow } from '../store/streams.ts'
import { findKnown, ownedBy, type Known } from './known.ts'
import { endPart, requestOf } from './parts.ts'

type Part = Record<string, unknown>

/** The members that differ from their defaults. */
const besides = (part: Part, defaults: Part): Part =>
  Object.fromEntries(Object.entries(part).filter(([name, value]) => value !== undefined && !isDeepStrictEqual(value, defaults[name])))

function streamOf(row: StreamRow): Part {
  const { description, is_adopted, topic, schema_text, schema_id, schema, partitions, compatibility, format } = row
  const common = { description, key: row.key_field ?? undefined, message: schema_text?.message }
  if (is_adopted) return besides({ ...common, topic, schema_id }, { description: '' })
  const given = schema_text ? { schema_id } : { schema, format }
  const own = { ...common, ...given, partitions, compatibility, retention_ms: Number(row.retention_ms) }
  return besides(own, { description: '', format: 'json', ...STREAM_DEFAULTS })
}

/** Undefined once it is gone. */
async function moduleOf(db: Queryable, { id, version, description }: ListedSmartModule): Promise<Part | undefined> {
  const newest = await findVersion(db, id, version)
  if (!newest) return undefined
  const { source, input_format, output_format, config, tests } = newest
  const given = source ? { source } : { wasm_binary: (await getBinary(db, newest.sha256)).toString('base64') }
  const formats = besides({ input_format, output_format }, { input_format: 'json', output_format: 'json' })
  // The parameters of a source come from its class Settings.
  const { allowed_hosts } = config
  const more = {
    ...formats,
    ...(allowed_hosts ? { allowed_hosts } : {}),
    ...(source || !config.parameters ? {} : { parameters: config.parameters }),
  }
  return besides(
    { description, ...given, tests: tests ?? undefined, config: Object.keys(more).length > 0 ? more : undefined },
    { description: '' },
  )
}

function pipelineOf(known: Known, row: PipelineRow): Part {
  const { source, sink, on_error } = requestOf(row)
  const { steps, tasks, failure_threshold, on_lost_position } = row.definition
  const shown = steps.map((step) => ({
    module: step.name,
    ...besides(
      { version: step.version, with: step.config, on_error: step.on_error, timeout_ms: step.timeout_ms, changes_keys: step.changes_keys },
      // The newest one is followed.
      { version: known.modules.get(step.name)?.version, with: {}, on_error, changes_keys: false },
    ),
  }))
  return besides(
    {
      description: row.description,
      source: endPart(known, source),
      steps: shown,
      sink: endPart(known, sink),
      tasks,
      on_error,
      failure_threshold,
      on_lost_position,
    },
    { description: '', tasks: 1, on_error: ON_ERROR_DEFAULT, failure_threshold: 0.5, on_lost_position: 'fail' },
  )
}

/** Throws 409 where the set has more than a manifest may have: it could not be planned, and all of an account may be gigabytes. */
async function assertFitsManifest(db: Queryable, accountId: string, set: string): Promise<void> {
  const sizes = await listMemberSizes(db, accountId, set)
  const bytes = sizes.reduce((sum, each) => sum + each.bytes, 0)
  const [largest] = sizes
  if (!largest || bytes <= LIMITS.smartmodule_body_bytes_max) return
  throw new ServiceError(
    'conflict',
    `as a manifest, with its sources, tests and binaries, the set would have ${bytes} bytes; a manifest may have ` +
      `${LIMITS.smartmodule_body_bytes_max}. Its largest member is the ${largest.kind} "${largest.name}" with ${largest.bytes}`,
  )
}

/** Undefined where the set has no member. Throws 409 where it is larger than a manifest may be. */
export async function exportSet(db: Queryable, accountId: string, set: string): Promise<ShownManifest | undefined> {
  await assertFitsManifest(db, accountId, set)
  const known = await findKnown(db, accountId, { set, streams: {}, smartmodules: {}, pipelines: {} })
  const owned = ownedBy(known, set)
  if (Object.values(owned).every((names) => names.length === 0)) return undefined
  // One at a time: a binary is held as bytes only while it is made into text.
  const modules: [string, Part][] = []
  for (const name of owned.smartmodule) {
    const part = await moduleOf(db, known.modules.get(name)!)
    if (part) modules.push([name, part])
  }
  return {
    dps: 1,
    set,
    streams: Object.fromEntries(owned.stream.map((name) => [name, streamOf(known.streams.get(name)!)])),
    smartmodules: Object.fromEntries(modules),
    pipelines: Object.fromEntries(owned.pipeline.map((name) => [name, pipelineOf(known, known.pipelines.get(name)!)])),
  }
}
