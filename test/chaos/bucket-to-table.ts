/**
 * `make example`: the bucket-to-table example at full size, with kills. A bucket of text files → text-classifier → a table, created by
 * one request; every processor is killed repeatedly on the way; in the end the table must hold every line exactly once, with its label.
 */
import { PutObjectCommand, S3Client } from '@aws-sdk/client-s3'
import pg from 'pg'
import { launch } from '../../deploy/local/launcher.ts'
import { openApi, until } from './client.ts'

const rows = Number(process.env.ROWS || 1_000_000)
const kills = Number(process.env.KILLS || 10)
const FILES = 50
const started = Date.now()
const say = (line: string) => void process.stdout.write(`${String(Math.round((Date.now() - started) / 1000)).padStart(5)} s  ${line}\n`)

const launched = await launch({ processors: 2, say, prefix: 'example' })
let isGreen = false
try {
  const { bucket, warehouseUrl } = launched.stack
  const api = await openApi(launched)
  const s3 = new S3Client({
    endpoint: bucket.endpoint,
    region: 'us-east-1',
    forcePathStyle: true,
    credentials: { accessKeyId: bucket.access_key, secretAccessKey: bucket.secret_key },
  })
  const perFile = Math.ceil(rows / FILES)
  let total = 0
  for (let file = 0; file < FILES; file++) {
    const lines = Array.from(
      { length: Math.min(perFile, rows - total) },
      (_, line) =>
        `${file}/${line} ${line % 3 === 0 ? 'I love this wonderful product' : line % 3 === 1 ? 'a terrible, awful waste of money' : 'it came on a Tuesday'}, said "customer ${line}"`,
    )
    total += lines.length
    await s3.send(new PutObjectCommand({ Bucket: bucket.name, Key: `texts/part-${file}.txt`, Body: lines.join('\n') }))
  }
  s3.destroy()
  say(`${total.toLocaleString('en')} lines in ${FILES} text files`)
  const { modules } = await api<{ modules: { id: string }[] }>('GET', '/smartmodules?name=dps%2Ftext-classifier')
  const from = Date.now()
  await api('POST', '/pipelines', {
    name: 'example',
    description: 'the contract’s own',
    source: { connector_id: 'conn_storage_bucket', config: { bucket: bucket.name, prefix: 'texts/' } },
    processors: [{ module_id: modules[0]!.id, config: { field: 'text', output_field: 'sentiment' } }],
    sink: { connector_id: 'conn_table', config: { table: 'example', batch_size: 1000 } },
  })
  const warehouse = new pg.Client({ connectionString: warehouseUrl! })
  await warehouse.connect()
  const count = async () =>
    Number((await warehouse.query('SELECT count(*) FROM example').catch(() => ({ rows: [{ count: 0 }] }))).rows[0].count)
  for (let kill = 1, before = 0; kill <= kills; kill++) {
    // Each kill waits until the fleet has written something since the last one.
    const wanted = Math.max(before + 1, Math.floor((total * kill) / (kills * 2)))
    await until(`${wanted} rows`, 300_000, async () => (await count()) >= wanted)
    for (const processor of launched.processors) {
      const pid = processor.pid()
      if (pid !== undefined) process.kill(pid, 'SIGKILL')
    }
    before = await count()
    say(`every processor was killed (${kill} of ${kills}); ${before.toLocaleString('en')} rows so far`)
  }
  await until('all rows', 300_000, async () => (await count()) >= total)
  const seconds = (Date.now() - from) / 1000
  await new Promise((resolve) => setTimeout(resolve, 3000))
  const { rows: found } = await warehouse.query(
    `SELECT count(*)::int AS rows, count(DISTINCT (object, line))::int AS once,
       count(*) FILTER (WHERE text LIKE split_part(split_part(object, '-', 2), '.', 1) || '/' || (line - 1) || ' %')::int AS whole,
       count(*) FILTER (WHERE sentiment = CASE (line - 1) % 3 WHEN 0 THEN 'positive' WHEN 1 THEN 'negative' ELSE 'neutral' END)::int AS right
     FROM example`,
  )
  say(JSON.stringify({ ...found[0], seconds: Math.round(seconds), kills: kills * launched.processors.length }))
  isGreen = found[0].rows === total && found[0].once === total && found[0].whole === total && found[0].right === total
  say(isGreen ? 'green: every line once, with its label' : 'RED')
  await warehouse.end()
} finally {
  await launched.close()
}
process.exit(isGreen ? 0 : 1)
