/** Direct access to the systems that connectors reach, as an independent witness: objects by the AWS SDK, tables by pg. */
import { DeleteObjectCommand, GetObjectCommand, ListObjectsV2Command, PutObjectCommand, S3Client } from '@aws-sdk/client-s3'
import pg from 'pg'
import { eventually, patiently, service, unique, type Client } from './client.ts'
import { moduleId, stopAfterwards, type Step } from './pipelines.ts'

export type Endpoint = { connector_id: string; config: Record<string, unknown> }

export const stream = (stream_id: string): Endpoint => ({ connector_id: 'conn_stream', config: { stream_id } })
export const bucket = (config: Record<string, unknown>): Endpoint => ({
  connector_id: 'conn_storage_bucket',
  config: { bucket: service().bucket.name, ...config },
})
export const table = (config: Record<string, unknown>): Endpoint => ({ connector_id: 'conn_table', config })

export async function connect(
  client: Client,
  source: Endpoint,
  steps: Step[],
  sink: Endpoint,
  more: Record<string, unknown> = {},
): Promise<string> {
  const processors = await Promise.all(steps.map(async ({ name, config }) => ({ module_id: await moduleId(client, name), config })))
  const created = await patiently(() =>
    client.call<{ pipeline_id: string }>('POST', '/v1/pipelines', { name: unique('connected'), source, processors, sink, ...more }),
  )
  if (created.status !== 201) throw new Error(`creating a pipeline answered ${created.status}: ${JSON.stringify(created.body)}`)
  return stopAfterwards(client, created.body.pipeline_id)
}

export function openS3() {
  const { endpoint, access_key, secret_key, name: Bucket } = service().bucket
  const client = new S3Client({
    endpoint,
    region: 'us-east-1',
    forcePathStyle: true,
    credentials: { accessKeyId: access_key, secretAccessKey: secret_key },
  })
  return {
    put: (key: string, body: string | Uint8Array) => client.send(new PutObjectCommand({ Bucket, Key: key, Body: body })),
    remove: (key: string) => client.send(new DeleteObjectCommand({ Bucket, Key: key })),
    async keys(prefix: string): Promise<string[]> {
      const keys: string[] = []
      for (let token: string | undefined; ;) {
        const page = await client.send(new ListObjectsV2Command({ Bucket, Prefix: prefix, ContinuationToken: token }))
        keys.push(...(page.Contents ?? []).map(({ Key }) => Key!))
        token = page.NextContinuationToken
        if (!page.IsTruncated) return keys
      }
    },
    async get(key: string): Promise<Uint8Array> {
      return (await client.send(new GetObjectCommand({ Bucket, Key: key }))).Body!.transformToByteArray()
    },
    close: () => client.destroy(),
  }
}

export async function openWarehouse(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: service().warehouseUrl })
  await client.connect()
  return client
}

export async function countRows(warehouse: pg.Client, name: string): Promise<number> {
  const { rows } = await warehouse.query<{ count: string }>(`SELECT count(*) FROM ${name}`).catch(() => ({ rows: [{ count: '-1' }] }))
  return Number(rows[0]!.count)
}

/** The types of a table's columns, by name. */
export async function columnTypes(warehouse: pg.Client, name: string): Promise<Record<string, string>> {
  const { rows } = await warehouse.query('SELECT column_name, data_type FROM information_schema.columns WHERE table_name = $1', [name])
  return Object.fromEntries(rows.map(({ column_name, data_type }) => [column_name, data_type]))
}

export const waitForRows = (warehouse: pg.Client, name: string, count: number, deadlineMs = 30_000): Promise<unknown> =>
  eventually(`the table ${name} has ${count} rows`, async () => (await countRows(warehouse, name)) >= count, deadlineMs)

export type Letters = {
  dead_letters: {
    error: { code: string; message: string }
    offset: number
    step: number | null
    revision: number
    status: string
    redrives: number
    value: { json: unknown }
  }[]
  total: number
}

export async function lettersOf(client: Client, pipelineId: string): Promise<Letters> {
  return (await client.call<Letters>('GET', `/v1/pipelines/${pipelineId}/dead-letters?page_size=100`)).body
}
