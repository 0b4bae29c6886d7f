/** An S3-compatible object store, through the AWS SDK. */
import { Readable } from 'node:stream'
import { Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import {
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
  type PutObjectCommandInput,
} from '@aws-sdk/client-s3'
import { Upload } from '@aws-sdk/lib-storage'
import { errorOf } from '../../errors/reason-of.ts'
import type { AddressGuard } from '../address-guard.ts'
import { boundAnswers } from './bounded-answers.ts'
import { ObjectChanged, ObjectWithheld, type ObjectInfo, type ObjectStore } from './object-store.ts'

/** Where an S3-compatible bucket is; `guard` resolves and checks its host. */
export type S3Place = {
  bucket: string
  endpoint: string
  region: string
  accessKey: string
  secretKey: string
  guard: AddressGuard | undefined
}

/** Bodies of this size or more are uploaded in parts. */
const MULTIPART_FROM_BYTES = 16 << 20
const CONNECTIONS_MAX = 8
const TIMEOUT_MS = 30_000

/** Refusals (403) that are about one object; others are about the access key, the signature or the clock. */
const WITHHELD = new Set(['AccessDenied', 'InvalidObjectState'])

const statusOf = (error: unknown): number | undefined =>
  (error as { $metadata?: { httpStatusCode?: number } } | undefined)?.$metadata?.httpStatusCode

async function uploadInParts(client: S3Client, params: PutObjectCommandInput, signal: AbortSignal): Promise<{ ETag?: string | undefined }> {
  const upload = new Upload({ client, params, partSize: 8 << 20, queueSize: 2 })
  const abort = () => void upload.abort()
  signal.addEventListener('abort', abort, { once: true })
  return upload.done().finally(() => signal.removeEventListener('abort', abort))
}

/** Opens the bucket; it connects at the first request. */
export function openS3Store({ bucket, endpoint, region, accessKey, secretKey, guard }: S3Place): ObjectStore {
  // A literal address is never resolved, so the guarded lookup would not see it.
  guard?.assertHost(new URL(endpoint).hostname)
  const agentOptions = { keepAlive: true, maxSockets: CONNECTIONS_MAX, ...(guard ? { lookup: guard.lookup } : {}) }
  const client = new S3Client({
    endpoint,
    region,
    forcePathStyle: true,
    credentials: { accessKeyId: accessKey, secretAccessKey: secretKey },
    maxAttempts: 3,
    requestHandler: {
      connectionTimeout: 5000,
      socketTimeout: TIMEOUT_MS,
      httpAgent: new HttpAgent(agentOptions),
      httpsAgent: new HttpsAgent(agentOptions),
    },
  })
  boundAnswers(client)
  return {
    async *list(prefix, signal) {
      let token: string | undefined
      do {
        const page = await client.send(new ListObjectsV2Command({ Bucket: bucket, Prefix: prefix, ContinuationToken: token }), {
          abortSignal: signal,
        })
        yield (page.Contents ?? []).flatMap(({ Key, ETag, Size, LastModified }): ObjectInfo[] =>
          Key === undefined || Key.endsWith('/')
            ? []
            : [{ key: Key, etag: ETag ?? '', size: Size ?? 0, modifiedAt: LastModified?.getTime() ?? 0 }],
        )
        token = page.IsTruncated ? page.NextContinuationToken : undefined
      } while (token !== undefined)
    },
    async read({ key, etag, size }, from, signal) {
      // S3 refuses a range that starts at the end or after it; there is nothing to read.
      if (from >= size) return Readable.from([])
      try {
        const answer = await client.send(
          new GetObjectCommand({
            Bucket: bucket,
            Key: key,
            IfMatch: etag === '' ? undefined : etag,
            ...(from > 0 ? { Range: `bytes=${from}-` } : {}),
          }),
          { abortSignal: signal },
        )
        return answer.Body as Readable
      } catch (error) {
        if (statusOf(error) === 412 || statusOf(error) === 404) throw new ObjectChanged(`the object ${key} changed while it was being read`)
        const { name, message } = errorOf(error)
        if (WITHHELD.has(name))
          throw new ObjectWithheld(`the store does not give the object ${key} out: ${message}`, name === 'AccessDenied')
        throw error
      }
    },
    async putNew(key, body, metadata, signal) {
      const input = { Bucket: bucket, Key: key, Body: body, Metadata: metadata, IfNoneMatch: '*' }
      try {
        const { ETag } = await (body.length < MULTIPART_FROM_BYTES
          ? client.send(new PutObjectCommand(input), { abortSignal: signal })
          : uploadInParts(client, input, signal))
        // Every store names what it has stored: without that, it was something else that answered 200.
        if (!ETag) throw new Error('the answer has no ETag')
        return true
      } catch (error) {
        if (statusOf(error) === 412) return false
        throw error
      }
    },
    async metadataOf(key, signal) {
      try {
        return (await client.send(new HeadObjectCommand({ Bucket: bucket, Key: key }), { abortSignal: signal })).Metadata ?? {}
      } catch (error) {
        if (statusOf(error) === 404) return undefined
        throw error
      }
    },
    close: () => client.destroy(),
  }
}
