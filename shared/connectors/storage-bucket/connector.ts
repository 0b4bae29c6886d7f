/** The connector `storage-bucket`: reads objects of an S3-compatible store, or of a folder, as records; writes records as objects. */
import { z } from 'zod'
import { direction, type Connector } from '../connector.ts'
import { TYPE_NAMES } from '../../model/stream-schema.ts'
import { METADATA_FIELDS } from '../encode/row-metadata.ts'
import { RowMetadata } from '../row-format.ts'
import { HttpUrl } from '../http-url.ts'
import { Secret } from '../secret.ts'
import { CSV_ENCODINGS } from './format-reader.ts'
import { isInside, parseTemplate, PART_NAMES } from './group-by-folder.ts'
import { describeObject } from './objects.ts'
import { isColumnType } from './parquet-columns.ts'

/** Names that S3 has ever allowed. */
const BUCKET_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{1,254}$/
/** For names of these kinds the library asks another host than the endpoint: directory buckets, access points. */
const OTHER_HOSTS = ['--x-s3', '--xa-s3', '-s3alias', '--ol-s3', '.mrap']

const isBucketName = (name: string): boolean => BUCKET_NAME.test(name) && !OTHER_HOSTS.some((end) => name.endsWith(end))

const Place = {
  bucket: z
    .string()
    .min(1, 'must not be empty')
    .max(1024)
    .refine((bucket) => !bucket.includes('\0'), 'must not contain NUL')
    .refine((bucket) => bucket.startsWith('file:') || isBucketName(bucket), 'is not the name of a bucket')
    .describe('name of the bucket, or file:///folder where the operator allows local folders')
    .meta({ title: 'Bucket', examples: ['demo'] }),
  prefix: z
    .string()
    .max(900)
    .refine((prefix) => !prefix.includes('\0'), 'must not contain NUL')
    .default('')
    .describe('only objects whose key begins with it')
    .meta({ title: 'Prefix', examples: ['reviews/'] }),
  endpoint: HttpUrl.optional().describe('URL of the S3 API; the operator’s when omitted').meta({ title: 'Endpoint' }),
  region: z
    .string()
    .min(1)
    .max(100)
    .optional()
    .meta({ title: 'Region', examples: ['eu-central-1'] }),
  access_key: Secret.optional().meta({ title: 'Access key' }),
  secret_key: Secret.optional().meta({ title: 'Secret key' }),
}

const Delimiter = z
  .string()
  .regex(/^[^"\r\n]$/, 'must be one character, no quote and no line break')
  .refine((text) => text.charCodeAt(0) < 128, 'must be an ASCII character')

const together = { path: ['endpoint'], message: 'needs access_key and secret_key: the operator’s are only for the operator’s endpoint' }
const hasOwnKeys = ({ endpoint, access_key, secret_key }: { endpoint?: string; access_key?: unknown; secret_key?: unknown }) =>
  endpoint === undefined || (access_key !== undefined && secret_key !== undefined)

/** Config of a bucket as a source, as requests give it. */
export const BucketSourceConfig = z
  .strictObject({
    ...Place,
    pattern: z
      .string()
      .min(1)
      .max(1000)
      .optional()
      .describe('only objects whose key after the prefix matches: * is anything but a slash, ** anything, ? one character but a slash')
      .meta({ title: 'Pattern', examples: ['*.ndjson.gz'] }),
    format: z
      .enum(['auto', 'ndjson', 'json', 'csv', 'text'])
      .default('auto')
      .describe('auto decides by the extension: .ndjson .jsonl .json .csv .tsv; others are text, whose lines become {text, object, line}')
      .meta({ title: 'Format' }),
    compression: z
      .enum(['auto', 'none', 'gzip', 'zstd'])
      .default('auto')
      .describe('auto decides by the extension: .gz .zst')
      .meta({ title: 'Compression' }),
    csv: z
      .strictObject({
        delimiter: Delimiter.optional().describe('a comma when left out, or a tab in objects named .tsv'),
        header: z.boolean().default(true).describe('the first row names the fields; if false, they are column1, column2, …'),
        columns: z
          .array(z.string().min(1).max(200))
          .min(1)
          .max(1000)
          .refine((names) => new Set(names).size === names.length, 'must not name a column twice')
          .optional()
          .describe(
            'names of the columns: the cells’ names in rows without a header, and what a table or Parquet sink is told of the records before the first one is read',
          ),
        quote: z.boolean().default(true).describe('fields may be enclosed in double quotes'),
        empty: z
          .enum(['text', 'null'])
          .default('text')
          .describe('what an empty cell becomes: a text without characters, or null unless it stands in quotes'),
        encoding: z
          .enum(CSV_ENCODINGS)
          .default('utf-8')
          .describe('how characters are encoded: spreadsheets of Western Europe often write windows-1252'),
      })
      .optional(),
    key: z
      .string()
      .min(1)
      .max(200)
      .optional()
      .describe(
        'member whose value becomes the record’s key: records with the same key keep the order of their objects. Set it to the first key column if the sink is a table with upsert or merge-patch',
      )
      .meta({ title: 'Key', examples: ['id'] }),
    order: z
      .enum(['time', 'name'])
      .optional()
      .describe('reads the objects one after another, by the time of their last change or by name; with a key, time is the default')
      .meta({ title: 'Order' }),
    on_object_error: z
      .enum(['skip_object', 'fail'])
      .default('skip_object')
      .describe(
        'an unreadable object (corrupt, truncated, malformed as a whole) becomes a dead letter that names it, or fails the pipeline',
      )
      .meta({ title: 'On object error' }),
    follow: z
      .boolean()
      .default(true)
      .describe('keeps looking for new objects; if false, the source ends after the last object')
      .meta({ title: 'Follow' }),
    poll_interval_ms: z
      .number()
      .int()
      .min(100)
      .max(86_400_000)
      .default(5000)
      .describe('time between two searches for new objects')
      .meta({ title: 'Poll interval (ms)' }),
  })
  .refine(hasOwnKeys, together)
/** A validated config with its defaults filled in. */
export type BucketSourceConfig = z.output<typeof BucketSourceConfig>

/** Config of a bucket as a sink, as requests give it. */
export const BucketSinkConfig = z
  .strictObject({
    ...Place,
    prefix: Place.prefix
      .unwrap()
      .refine(isInside, 'must not have . or .. as a path segment')
      .default('')
      .describe('every key begins with it')
      .meta({ title: 'Prefix', examples: ['reviews/'] }),
    key: z
      .string()
      .min(1)
      .max(500)
      .default('{pipeline}')
      .refine(isInside, 'must not have . or .. as a path segment')
      .refine((key) => parseTemplate(key) !== undefined, { message: `may contain only these parts: ${PART_NAMES.join(', ')}` })
      .describe(
        'folder of the objects, below the prefix. It may contain {stream} (the source stream’s name), {pipeline}, {partition}; {date} (2026-11-21), {year}, {month}, {day}, {hour} of the record’s timestamp, in UTC; {value.city} for a member of the record; {value.created|date} (or year, month, day, hour) for a member that holds a time, as text or milliseconds. A record without the member goes to __HIVE_DEFAULT_PARTITION__',
      )
      .meta({ title: 'Key', examples: ['{stream}/dt={value.created|date}'] }),
    format: z.enum(['ndjson', 'csv', 'parquet']).default('ndjson').meta({ title: 'Format' }),
    compression: z
      .enum(['none', 'gzip', 'zstd'])
      .default('none')
      .describe('for ndjson and csv; parquet files are always compressed with snappy')
      .meta({ title: 'Compression' }),
    columns: z
      .array(z.string().min(1).max(200))
      .min(1)
      .max(1000)
      .optional()
      .describe('members that become columns of csv, in this order')
      .meta({ title: 'Columns' }),
    delimiter: Delimiter.default(','),
    types: z
      .record(
        z.string().min(1).max(200),
        z.string().refine(isColumnType, { message: `must be one of ${TYPE_NAMES.join(', ')}, or for example decimal(38,18)` }),
      )
      .optional()
      .describe(
        'types of members as parquet columns: those of a stream’s schema, and decimals such as decimal(12,2); decimal alone means decimal(38,18). Members left out have the type of the source stream’s schema, else one that fits the rows',
      )
      .meta({ title: 'Types', examples: [{ amount: 'decimal(12,2)', created: 'datetime' }] }),
    metadata: z
      .array(RowMetadata)
      .min(1)
      .max(RowMetadata.options.length)
      .refine((kinds) => new Set(kinds).size === kinds.length, 'must not have duplicates')
      .optional()
      .describe(
        'members added to every row after its own: _offset, _partition and _timestamp of its record, and for changes of a table _op (snapshot, insert, update, delete) and _commit_time',
      )
      .meta({ title: 'Metadata', examples: [['offset', 'partition']] }),
    object_bytes: z
      .number()
      .int()
      .min(1000)
      .max(64 << 20)
      .default(8 << 20)
      .describe('an object is written when its rows reach this many bytes, before compression')
      .meta({ title: 'Object size (bytes)' }),
    interval_ms: z
      .number()
      .int()
      .min(100)
      .max(3_600_000)
      .default(10_000)
      .describe('or when its first row has waited this long')
      .meta({ title: 'Interval (ms)' }),
  })
  .refine(hasOwnKeys, together)
  .refine(({ format, columns }) => format !== 'csv' || columns !== undefined, { path: ['columns'], message: 'is required for csv' })
  .refine(({ columns = [], metadata = [] }) => !metadata.some((kind) => columns.includes(METADATA_FIELDS[kind].name)), {
    path: ['columns'],
    message: 'must not name a member that metadata adds',
  })
/** A validated config with its defaults filled in. */
export type BucketSinkConfig = z.output<typeof BucketSinkConfig>

/** Members of a record made from a line of text; records of other formats have their own. */
const TEXT_FIELDS = { text: 'string', object: 'string', line: 'integer' }

/**
 * The members of records, as far as the config says. `auto` decides object by object; it is taken for text, as objects without a known
 * extension are, unless the config speaks of another format.
 */
function fieldsOf({ format, pattern = '', csv }: BucketSourceConfig): Record<string, string> | undefined {
  const meant = format === 'auto' && csv ? 'csv' : describeObject(pattern, { format, compression: 'auto', csv: undefined }).format
  // A row may have fewer cells.
  if (meant === 'csv') return csv?.columns && Object.fromEntries(csv.columns.map((name) => [name, 'string?']))
  return meant === 'text' ? TEXT_FIELDS : undefined
}

/** The connector’s entry in the catalogue. */
export const bucketConnector: Connector = {
  id: 'conn_storage_bucket',
  name: 'storage-bucket',
  description:
    'Reads the objects of an S3-compatible bucket record by record, new ones as they arrive; writes records as objects, each exactly once in effect.',
  version: '1.0.0',
  created_at: '2026-11-21T00:00:00.000Z',
  place: {
    members: ['endpoint', 'bucket', 'prefix'],
    called: (text) => [text('bucket'), text('prefix')].filter((part) => part !== '').join('/'),
  },
  source: direction({
    config: BucketSourceConfig,
    fields: fieldsOf,
    // Objects are read side by side.
    keyMember: 'key',
    open: async () => (await import('./source.ts')).openBucketSource,
    check: async () => (await import('./check.ts')).checkBucket,
  }),
  sink: direction({
    config: BucketSinkConfig,
    open: async () => (await import('./sink.ts')).openBucketSink,
    check: async () => (await import('./check.ts')).checkBucket,
  }),
}
