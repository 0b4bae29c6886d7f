/**
 * Records as objects. A range is planned before it is written (`task/round/row-writer.ts`), and the object's key is made of the range, so
 * that a replay writes the same object; a key that is there already was written by an earlier try, which its metadata must show.
 */
import { promisify } from 'node:util'
import { gzip, zstdCompress } from 'node:zlib'
import type { ConnectorContext } from '../connector.ts'
import { deliveryNameOf, type Delivery, type OpenSink, type RefusedRecord, type Rows, type Written } from '../sink.ts'
import type { BucketSinkConfig } from './connector.ts'
import { openObjectStore } from './open-store.ts'
import { timeParts } from './time-parts.ts'

const compressors = { gzip: promisify(gzip), zstd: promisify(zstdCompress) }
const EXTENSIONS = { none: '', gzip: '.gz', zstd: '.zst' }
const RECORDS_MAX = 1_000_000
/** Longest that one object may take. */
const WRITE_TIMEOUT_MS = 60_000

/** Zero-padded, so that keys sort as offsets do. */
const padded = (offset: bigint): string => String(offset).padStart(20, '0')

/** A name as part of a key: it makes no folders. */
const asSegment = (name: string): string => name.replace(/[^A-Za-z0-9._-]+|^\.+/g, '-')

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
  // The topic's id keeps apart what was read from a topic that was made anew under its old name.
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

export async function openBucketSink(config: BucketSinkConfig, context: ConnectorContext): Promise<OpenSink> {
  const store = await openObjectStore(config, context)
  const { format, compression } = config
  const parquet = format === 'parquet' ? (await import('./parquet-thread.ts')).openParquetThread() : undefined
  const header = format === 'csv' ? Buffer.from(`${config.columns!.map(quoteField).join(config.delimiter)}\r\n`) : undefined

  async function encode(rows: readonly Rows[]): Promise<{ file: Uint8Array } | { faults: RefusedRecord[] }> {
    if (parquet) return parquet.encode(rows, context.fields)
    const plain = Buffer.concat([...(header ? [header] : []), ...rows.map(({ bytes }) => bytes)])
    return { file: compression === 'none' ? plain : await compressors[compression](plain) }
  }

  async function put(key: string, file: Uint8Array, metadata: Record<string, string>, signal: AbortSignal): Promise<Written> {
    const both = AbortSignal.any([signal, AbortSignal.timeout(WRITE_TIMEOUT_MS)])
    try {
      if (await store.putNew(key, file, metadata, both)) return { kind: 'delivered' }
      const found = await store.metadataOf(key, both)
      if (found && isSame(found, metadata)) return { kind: 'delivered' }
      return found
        ? { kind: 'permanent', reason: `the object ${key} is there already, and not by this pipeline` }
        : { kind: 'retry', afterMs: 0, reason: `the object ${key} was there and is gone` }
    } catch (error) {
      return refusal(error, key)
    }
  }

  return {
    rows: format === 'csv' ? { kind: 'csv', columns: config.columns!, delimiter: config.delimiter } : { kind: 'json_lines' },
    boundaries: { bytesMax: config.object_bytes, recordsMax: RECORDS_MAX, intervalMs: config.interval_ms },
    async write(delivery, rows, signal) {
      const files: { key: string; file: Uint8Array }[] = []
      const faults: RefusedRecord[] = []
      for (const part of timeParts(rows, config.key)) {
        const encoded = await encode(part.rows)
        if ('faults' in encoded) faults.push(...encoded.faults)
        else files.push({ key: keyOf(config, delivery, context.origin, part.folder), file: encoded.file })
      }
      // Nothing of the range is written while a record of it is at fault.
      if (faults.length > 0) return { kind: 'at_fault', records: faults }
      for (const { key, file } of files) {
        const written = await put(key, file, metadataOf(delivery), signal)
        if (written.kind !== 'delivered') return written
      }
      return { kind: 'delivered' }
    },
    async close() {
      await parquet?.close()
      store.close()
    },
  }
}

const quoteField = (name: string): string => (/["\r\n,;\t|]/.test(name) ? `"${name.replaceAll('"', '""')}"` : name)

/** What a store says that no repetition mends: no such bucket, no right to write. */
const PERMANENT = new Set([
  'NoSuchBucket',
  'AccessDenied',
  'InvalidAccessKeyId',
  'SignatureDoesNotMatch',
  'InvalidBucketName',
  'EntityTooLarge',
])

function refusal(error: unknown, key: string) {
  const { name, message } = error instanceof Error ? error : new Error(String(error))
  const reason = `the object ${key} can't be written: ${message || name}`
  return PERMANENT.has(name) ? ({ kind: 'permanent', reason } as const) : ({ kind: 'retry', afterMs: 0, reason } as const)
}
