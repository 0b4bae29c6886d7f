/**
 * The bucket-to-table example, by one `POST /api/v1/pipelines`: a storage bucket of text files → text-classifier with `field` and
 * `output_field` → a table with `batch_size`. As a user would, it looks at the result only in the table.
 */
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { PutObjectCommand, S3Client } from '@aws-sdk/client-s3'
import pg from 'pg'
import { isFolder, type BucketPlace } from '../bucket.ts'
import type { Api } from './api.ts'
import type { Label, Paragraph } from './corpus.ts'

const PREFIX = 'reviews/'
const TABLE = 'classified_reviews'
export const TABLE_PIPELINE = 'reviews into a table'
const FILES = 20
const DEADLINE_MS = 120_000

type Row = { label: string; truth: Label; object: string; line: string; text: string }

/** Uploads the paragraphs as lines of text files; only the files' names say whether they are ham or spam. */
async function upload(bucket: BucketPlace, records: Paragraph[]): Promise<void> {
  const files = (['ham', 'spam'] as const).flatMap((truth) => {
    const lines = records.filter((record) => record.truth === truth).map(({ text }) => text)
    return Array.from({ length: FILES }, (_, file) => ({
      key: `${PREFIX}${truth}/part-${String(file).padStart(2, '0')}.txt`,
      body: lines.filter((_line, index) => index % FILES === file).join('\n'),
    }))
  })
  if (isFolder(bucket)) {
    for (const { key, body } of files) {
      const path = join(fileURLToPath(bucket.name), key)
      await mkdir(dirname(path), { recursive: true })
      await writeFile(path, body)
    }
    return
  }
  const client = new S3Client({
    endpoint: bucket.endpoint,
    region: 'us-east-1',
    forcePathStyle: true,
    credentials: { accessKeyId: bucket.access_key, secretAccessKey: bucket.secret_key },
  })
  try {
    for (const { key, body } of files) await client.send(new PutObjectCommand({ Bucket: bucket.name, Key: key, Body: body }))
  } finally {
    client.destroy()
  }
}

export async function runContractExample(
  api: Api,
  places: { bucket: BucketPlace; warehouseUrl: string },
  records: Paragraph[],
  labels: Record<Label, { examples: string[] }>,
  say: (line: string) => void,
): Promise<void> {
  await upload(places.bucket, records)
  say(
    `bucket    ${places.bucket.name}: ${records.length.toLocaleString('en')} paragraphs uploaded as lines of ${FILES * 2} text files below ${PREFIX}`,
  )
  const { connectors } = await api.get<{ connectors: { id: string; name: string }[] }>('/connectors?page_size=100')
  const { modules } = await api.get<{ modules: { id: string }[] }>('/smartmodules?name=dps%2Ftext-classifier')
  const idOf = (name: string) => connectors.find((connector) => connector.name === name)!.id
  const from = performance.now()
  const { pipeline_id } = await api.post<{ pipeline_id: string }>('/pipelines', {
    name: TABLE_PIPELINE,
    description: 'a bucket of text → text-classifier → a table',
    source: { connector_id: idOf('storage-bucket'), config: { bucket: places.bucket.name, prefix: PREFIX } },
    processors: [{ module_id: modules[0]!.id, config: { field: 'text', output_field: 'label', labels } }],
    sink: { connector_id: idOf('table'), config: { table: TABLE, batch_size: 1000 } },
  })
  say(`pipeline  created: bucket → text-classifier → table ${TABLE} (${pipeline_id})`)
  const warehouse = new pg.Client({ connectionString: places.warehouseUrl })
  await warehouse.connect()
  try {
    await waitForRows(warehouse, records.length)
    say(
      `table     ${records.length.toLocaleString('en')} rows written ${((performance.now() - from) / 1000).toFixed(1)} s after the request to create the pipeline`,
    )
    const rows = (
      await warehouse.query<Row>(
        `SELECT label, split_part(object, '/', 2) AS truth, object, line, left(text, 80) AS text FROM ${TABLE} ORDER BY md5(object || line) LIMIT 5`,
      )
    ).rows
    say('')
    for (const { label, object, line, text } of rows) say(`${label.padEnd(5)} ${`${object}:${line}`.padEnd(28)} ${text}`)
    say('')
    const [sums] = (
      await warehouse.query<{ once: number; right: number }>(
        `SELECT count(DISTINCT (object, line))::int AS once, count(*) FILTER (WHERE label = split_part(object, '/', 2))::int AS right FROM ${TABLE}`,
      )
    ).rows
    say(
      `exact     ${sums!.once.toLocaleString('en')} distinct lines in the table, of ${records.length.toLocaleString('en')} uploaded; the classifier is right about ${((100 * sums!.right) / records.length).toFixed(1)} %`,
    )
  } finally {
    await warehouse.end()
  }
}

async function waitForRows(warehouse: pg.Client, count: number): Promise<void> {
  for (const deadline = Date.now() + DEADLINE_MS; Date.now() < deadline;) {
    const { rows } = await warehouse.query<{ count: number }>(`SELECT count(*)::int AS count FROM ${TABLE}`).catch(() => ({ rows: [] }))
    if ((rows[0]?.count ?? 0) >= count) return
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
  throw new Error(`the table did not get ${count} rows within ${DEADLINE_MS / 1000} s`)
}

/** Removes the table of an interrupted tour. */
export async function dropTable(warehouseUrl: string): Promise<void> {
  const warehouse = new pg.Client({ connectionString: warehouseUrl })
  await warehouse.connect()
  try {
    await warehouse.query(`DROP TABLE IF EXISTS ${TABLE}`)
  } finally {
    await warehouse.end()
  }
}
