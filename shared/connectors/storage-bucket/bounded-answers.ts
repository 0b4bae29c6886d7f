/** A bound on what a store answers besides objects: the SDK keeps the whole of a listing or an error until its end. */
import { pipeline, Readable, Transform } from 'node:stream'
import type { S3Client } from '@aws-sdk/client-s3'

/** A page lists a thousand objects, whose names have at most 1,024 bytes, six times as many where XML escapes each. */
const ANSWER_BYTES_MAX = 16 << 20

function bounded(body: Readable): Readable {
  let bytes = 0
  const counted = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length
      if (bytes > ANSWER_BYTES_MAX) done(new Error(`the store's answer has more than ${ANSWER_BYTES_MAX >> 20} MiB`))
      else done(null, chunk)
    },
  })
  // The reader of `counted` hears of its errors.
  pipeline(body, counted, () => {})
  return counted
}

const isAnswer = (response: unknown): response is { statusCode: number; body: unknown } =>
  typeof response === 'object' && response !== null && 'statusCode' in response && 'body' in response

/** Ends answers of the client's requests that are larger; objects are read as they come, whatever their size. */
export function boundAnswers(client: S3Client): void {
  client.middlewareStack.add(
    (next, { commandName }) =>
      async (args) => {
        const result = await next(args)
        const { response } = result
        if (!isAnswer(response)) return result
        const isObject = commandName === 'GetObjectCommand' && response.statusCode < 300
        if (!isObject && response.body instanceof Readable) response.body = bounded(response.body)
        return result
      },
    // The innermost of the step: before the answer is read.
    { step: 'deserialize', priority: 'low', name: 'boundAnswers' },
  )
}
