/**
 * Writes records as objects. A range is planned before it is written (`task/round/row-writer.ts`), and the object's key is made of the
 * range, so that a retry writes the same object. If the object exists already, its metadata must show that an earlier try wrote it.
 */
import { promisify } from 'node:util'
import { gzip, zstdCompress } from 'node:zlib'
import { errorOf } from '../../errors/reason-of.ts'
import type { ConnectorContext } from '../connector.ts'
import { refusalIn } from '../refusal.ts'
import { deliveryNameOf, type Delivery, type OpenSink, type Written } from '../sink.ts'
import type { RowMetadata } from '../row-format.ts'
import type { BucketSinkConfig } from './connector.ts'
import { METADATA_FIELDS } from '../encode/row-metadata.ts'
import { openObjectStore } from './open-store.ts'
import { hasFolders, hasMembers } from './group-by-folder.ts'
import { filesOf, type FileSpec } from './object-files.ts'

const compressors = { gzip: promisify(gzip), zstd: promisify(zstdCompress) }
const EXTENSIONS = { none: '', gzip: '.gz', zstd: '.zst' }
const RECORDS_MAX = 1_000_000
/** Objects of one range that are written at the same time. */
const PUTS_AT_ONCE = 8
/** Time limit for writing one object. */
const WRITE_TIMEOUT_MS = 60_000

/** Zero-padded, so that keys sort as offsets do. */
const padded = (offset: bigint): string => String(offset).padStart(20, '0')

/** A name as part of a key, without slashes. */
const asSegment = (name: string): string => name.replace(/[^A-Za-z0-9._-]+|^\.+/g, '-')

/** The key of an object: the same for the same range, so that one that was written before is found. */
export function keyOf(
  config: Pick<BucketSinkConfig, 'prefix' | 'format' | 'compression'>,
  { runId, topicId, partition, from, to, resetAt }: Delivery,
  origin: string,
  template: string,
): string {
  const folder = template
    .replaceAll('{stream}', () => asSegment(origin))
    .replaceAll('{pipeline}', runId)
    .replaceAll('{partition}', String(partition))
  const extension = config.format === 'parquet' ? '.parquet' : `.${config.format}${EXTENSIONS[config.compression]}`
  // The topic's id distinguishes a topic from one recreated under the same name, whose offsets start over.
  return `${config.prefix}${folder}/${deliveryNameOf({ runId, resetAt })}-${topicId.replaceAll('-', '').slice(0, 12)}-${partition}-${padded(from)}-${padded(to)}${extension}`
}

const metadataOf = ({ runId, topicId, partition, from, to, revision }: Delivery): Record<string, string> => ({
  'dps-pipeline': runId,
  'dps-topic': topicId,
  'dps-partition': String(partition),
  'dps-from': String(from),
  'dps-to': String(to),
  'dps-revision': String(revision),
})

/** The same range; which revision wrote it does not matter. */
function isSame(found: Record<string, string>, wanted: Record<string, string>): boolean {
  return Object.entries(wanted).every(([name, value]) => name === 'dps-revision' || found[name] === value)
}

/** Opens the sink; a bucket is asked when rows come, a folder that is not allowed is refused at once. */
export async function openBucketSink(config: BucketSinkConfig, context: ConnectorContext): Promise<OpenSink> {
  const store = await openObjectStore(config, context)
  const { format, compression, metadata } = config
  // The lanes encode rows of csv, unless metadata or members of the key have to be handled here.
  const isCsvRows = format === 'csv' && !metadata && !hasMembers(config.key)
  const spec: FileSpec = {
    key: config.key,
    format,
    delimiter: config.delimiter,
    columns: [...(config.columns ?? []), ...(metadata ?? []).map((kind) => METADATA_FIELDS[kind].name)],
    isEncoded: isCsvRows,
    fields: { ...context.fields, ...config.types, ...Object.fromEntries((metadata ?? []).map(fieldOf)) },
  }
  const isSlow = format === 'parquet' || hasFolders(config.key) || (format === 'csv' && !isCsvRows)
  const thread = isSlow ? (await import('./encode-thread.ts')).openEncodeThread() : undefined

  async function put(key: string, file: Uint8Array, metadata: Record<string, string>, signal: AbortSignal): Promise<Written> {
    const both = AbortSignal.any([signal, AbortSignal.timeout(WRITE_TIMEOUT_MS)])
    try {
      if (await store.putNew(key, file, metadata, both)) return { kind: 'delivered' }
      const found = await store.metadataOf(key, both)
      if (found && isSame(found, metadata)) return { kind: 'delivered' }
      return found
        ? { kind: 'permanent', reason: `the object ${key} exists already and was not written by this pipeline` }
        : { kind: 'retry', afterMs: 0, reason: `the object ${key} existed and is gone now` }
    } catch (error) {
      return refusal(error, key)
    }
  }

  return {
    rows: isCsvRows
      ? { kind: 'csv', columns: spec.columns, delimiter: config.delimiter }
      : { kind: 'json_lines', metadata, onlyObjects: format === 'csv' },
    boundaries: { bytesMax: config.object_bytes, recordsMax: RECORDS_MAX, intervalMs: config.interval_ms },
    async write(delivery, rows, signal) {
      const made = thread ? await thread.encode(rows, spec) : filesOf(rows, spec)
      // Nothing of the range is written while one of its records is at fault.
      if ('faults' in made) return { kind: 'at_fault', records: made.faults }
      for (let next = 0; next < made.files.length; next += PUTS_AT_ONCE) {
        const written = await Promise.all(
          made.files.slice(next, next + PUTS_AT_ONCE).map(async ({ folder, file }) => {
            const body = format === 'parquet' || compression === 'none' ? file : await compressors[compression](file)
            return put(keyOf(config, delivery, context.origin, folder), body, metadataOf(delivery), signal)
          }),
        )
        const failed = written.find(({ kind }) => kind !== 'delivered')
        if (failed) return failed
      }
      return { kind: 'delivered' }
    },
    async close() {
      await thread?.close()
      store.close()
    },
  }
}

function fieldOf(kind: RowMetadata): [string, string] {
  const { name, type } = METADATA_FIELDS[kind]
  return [name, type]
}

/** Errors of a store that no retry fixes: no such bucket, no right to write. */
const PERMANENT = new Set([
  'NoSuchBucket',
  'AccessDenied',
  'InvalidAccessKeyId',
  'SignatureDoesNotMatch',
  'InvalidBucketName',
  'EntityTooLarge',
  'KeyTooLongError',
])

function refusal(error: unknown, key: string) {
  if (refusalIn(error)) throw error
  const { name, message, code } = errorOf(error) as NodeJS.ErrnoException
  const reason = `the object ${key} can't be written: ${message || name}`
  return PERMANENT.has(name) || code === 'ENAMETOOLONG'
    ? ({ kind: 'permanent', reason } as const)
    : ({ kind: 'retry', afterMs: 0, reason } as const)
}
