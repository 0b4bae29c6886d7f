/**
 * An S3-compatible server as a local process: versitygw over a folder, built with Go once and kept in the cache. Without Go the bucket is
 * a plain folder.
 */
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { CreateBucketCommand, HeadBucketCommand, S3Client } from '@aws-sdk/client-s3'
import { cached } from './cache.ts'
import { startChild, startRestartable, waitUntilUp, type Child } from './child.ts'
import { portOf, type Home } from './home.ts'

const run = promisify(execFile)
const VERSION = '1.8.0'
/** Go verifies what it downloads against its checksum database (sum.golang.org), so no checksum is kept here. */
const MODULE = `github.com/versity/versitygw/cmd/versitygw@v${VERSION}`
export const DEMO_BUCKET = 'demo'

/** A bucket's address and keys. A folder used as a bucket has a name that begins with `file://`, no endpoint and no keys. */
export type BucketPlace = { endpoint: string; access_key: string; secret_key: string; name: string }

/** The folder of the built server. Throws if Go is missing or can't build it. */
export async function gatewayFolder(): Promise<string> {
  return cached(`versitygw-${VERSION}`, async (folder) => {
    await run('go', ['version'])
    process.stdout.write(`building versitygw ${VERSION}, the local S3-compatible server (only once, takes some minutes)\n`)
    await run('go', ['install', MODULE], {
      env: { ...process.env, GOBIN: folder, GOFLAGS: '-trimpath' },
      timeout: 900_000,
      maxBuffer: 64 << 20,
    })
  })
}

/** True for a bucket that is a folder on this machine. */
export const isFolder = ({ name }: BucketPlace): boolean => name.startsWith('file://')

async function folderBucket(home: Home): Promise<BucketPlace> {
  const folder = join(home.folder, 'bucket', 'folder')
  await mkdir(folder, { recursive: true })
  return { endpoint: '', access_key: '', secret_key: '', name: pathToFileURL(folder).href }
}

/** Starts the server over its own folder and creates the bucket; without Go a plain folder is the bucket. */
export async function startBucket(
  home: Home,
  say: (line: string) => void,
): Promise<BucketPlace & { readonly child?: Child; restart?(): Promise<void> }> {
  const gateway = await gatewayFolder().catch((error: unknown) => {
    const reason = (error as NodeJS.ErrnoException).code === 'ENOENT' ? 'Go is not on the PATH' : `the build failed: ${String(error)}`
    say(`bucket: using a local folder (file:///), because the local S3-compatible server must be built with Go, and ${reason}`)
  })
  if (gateway === undefined) return folderBucket(home)
  const folder = join(home.folder, 'bucket')
  await mkdir(folder, { recursive: true })
  const port = await portOf(home, 'bucket')
  const place: BucketPlace = {
    endpoint: `http://127.0.0.1:${port}`,
    access_key: await home.recall('access key of the bucket', () => `local-${randomBytes(6).toString('hex')}`),
    secret_key: await home.recall('secret key of the bucket', () => randomBytes(20).toString('hex')),
    name: DEMO_BUCKET,
  }
  const env = { ROOT_ACCESS_KEY: place.access_key, ROOT_SECRET_KEY: place.secret_key }
  const start = () =>
    startChild(
      {
        name: 'bucket',
        command: join(gateway, 'versitygw'),
        // Metadata in a folder beside the objects, because not every file system has extended attributes.
        args: ['--port', `127.0.0.1:${port}`, '--quiet', 'posix', '--sidecar', join(folder, 'metadata'), join(folder, 'objects')],
        env,
        cwd: folder,
        logFile: join(home.logs, 'bucket.log'),
      },
      home.reaper,
    )
  await mkdir(join(folder, 'objects'), { recursive: true })
  await mkdir(join(folder, 'metadata'), { recursive: true })
  const part = await startRestartable(start)
  await waitUntilUp(part.child, () => ensureBucket(place)).catch(async (error) => {
    await part.child.stop()
    throw error
  })
  return Object.assign(part, place)
}

/** Creates the bucket if it is missing; true once it exists. */
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
