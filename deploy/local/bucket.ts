/** An S3-compatible server as a local process: versitygw over a folder, built by Go once and kept in the cache. */
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { CreateBucketCommand, HeadBucketCommand, S3Client } from '@aws-sdk/client-s3'
import { cached } from './cache.ts'
import { freePort, startChild, startRestartable, waitUntilUp, type Child, type Reaper } from './child.ts'

const run = promisify(execFile)
const VERSION = '1.8.0'
/** Go verifies what it downloads against its checksum database (sum.golang.org), so that no sum is kept here. */
const MODULE = `github.com/versity/versitygw/cmd/versitygw@v${VERSION}`
export const DEMO_BUCKET = 'demo'

/** Where a bucket is and how to get in. */
export type BucketPlace = { endpoint: string; access_key: string; secret_key: string; name: string }

async function gatewayFolder(): Promise<string> {
  return cached(`versitygw-${VERSION}`, async (folder) => {
    await run('go', ['version']).catch(() => {
      throw new Error(
        'no container engine answers and Go is not on the PATH to build an S3-compatible server: install Go, or set BUCKET_ENDPOINT, BUCKET_ACCESS_KEY, BUCKET_SECRET_KEY and BUCKET_NAME',
      )
    })
    process.stdout.write(`building versitygw ${VERSION}, the local S3-compatible server (once, some minutes)\n`)
    await run('go', ['install', MODULE], {
      env: { ...process.env, GOBIN: folder, GOFLAGS: '-trimpath' },
      timeout: 900_000,
      maxBuffer: 64 << 20,
    })
  })
}

/** Starts the server over a folder of its own and makes the bucket. */
export async function startBucket(
  folder: string,
  reaper: Reaper,
): Promise<BucketPlace & { readonly child: Child; restart(): Promise<void> }> {
  const gateway = await gatewayFolder()
  const home = join(folder, 'bucket')
  await mkdir(home, { recursive: true })
  const port = await freePort()
  const place: BucketPlace = {
    endpoint: `http://127.0.0.1:${port}`,
    access_key: `local-${randomBytes(6).toString('hex')}`,
    secret_key: randomBytes(20).toString('hex'),
    name: DEMO_BUCKET,
  }
  const env = { ROOT_ACCESS_KEY: place.access_key, ROOT_SECRET_KEY: place.secret_key }
  const start = () =>
    startChild(
      {
        name: 'bucket',
        command: join(gateway, 'versitygw'),
        // Metadata beside the objects: not every file system has extended attributes.
        args: ['--port', `127.0.0.1:${port}`, '--quiet', 'posix', '--sidecar', join(home, 'metadata'), join(home, 'objects')],
        env,
        cwd: home,
        logFile: join(folder, 'bucket.log'),
      },
      reaper,
    )
  await mkdir(join(home, 'objects'), { recursive: true })
  await mkdir(join(home, 'metadata'), { recursive: true })
  const part = await startRestartable(start)
  await waitUntilUp(part.child, () => ensureBucket(place), 20_000).catch(async (error) => {
    await part.child.stop()
    throw error
  })
  return Object.assign(part, place)
}

/** True once the bucket is there. */
export async function ensureBucket({ endpoint, access_key, secret_key, name }: BucketPlace): Promise<boolean> {
  const client = new S3Client({
    endpoint,
    region: 'us-east-1',
    forcePathStyle: true,
    credentials: { accessKeyId: access_key, secretAccessKey: secret_key },
    maxAttempts: 1,
  })
  try {
    await client.send(new HeadBucketCommand({ Bucket: name })).catch(() => client.send(new CreateBucketCommand({ Bucket: name })))
    return true
  } finally {
    client.destroy()
  }
}
