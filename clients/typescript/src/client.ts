/** The client: every operation of the service by resource, and what takes several requests. */
import { pause } from './core/pause.ts'
import { createTransport, type ClientOptions } from './core/transport.ts'
import { createResources, type RequestOptions } from './generated/resources.ts'
import type { Job } from './generated/types.ts'
import { linesOf, writeLines, type WriteOptions, type Written } from './write-records.ts'

export type WaitOptions = {
  /** In milliseconds (default: 10 minutes). */
  timeoutMs?: number
  onProgress?: (job: Job) => void
  signal?: AbortSignal | undefined
}

const JOB_TIMEOUT_MS = 600_000
const JOB_LOOK_MS = 500
const JOB_LOOK_MAX_MS = 5000
const ENDED = new Set(['finished', 'failed', 'cancelled'])
const DATA_PAGE = 1000

export type Client = ReturnType<typeof createClient>

/** A client of one API key. It keeps a token, and may be used by any number of callers at once. */
export function createClient(options: ClientOptions) {
  const transport = createTransport(options)
  const api = createResources(transport)
  return {
    ...api,
    streams: {
      ...api.streams,
      /** All records of a stream, those of a partition in their order; ends at the stream's end. */
      records: (id: string, own: RequestOptions = {}): AsyncGenerator<unknown, void, void> => recordsOf(id, own),
      /** Writes records of any number; each request of them is written once, or not at all. */
      write: (id: string, records: Iterable<unknown> | AsyncIterable<unknown>, own: WriteOptions = {}): Promise<Written> =>
        writeLines(transport, id, linesOf(records), own),
      /** The same for lines of JSON, which are written as they are. */
      writeLines: (id: string, lines: AsyncIterable<string>, own: WriteOptions = {}): Promise<Written> =>
        writeLines(transport, id, lines, own),
    },
    jobs: {
      ...api.jobs,
      /** Waits until the job has ended, however it ends. Throws an Error after the timeout; the job goes on. */
      wait: (id: string, own: WaitOptions = {}): Promise<Job> => waitForJob(id, own),
    },
  }

  async function* recordsOf(id: string, own: RequestOptions): AsyncGenerator<unknown, void, void> {
    let cursor: string | undefined
    for (;;) {
      const { data, pagination } = await api.streams.getData(id, { limit: DATA_PAGE, cursor }, own)
      yield* data as unknown[]
      if (!pagination.has_more) return
      cursor = pagination.next_cursor
    }
  }

  async function waitForJob(id: string, { timeoutMs = JOB_TIMEOUT_MS, onProgress, signal }: WaitOptions): Promise<Job> {
    const until = Date.now() + timeoutMs
    for (let lookMs = JOB_LOOK_MS; ; lookMs = Math.min(lookMs * 1.5, JOB_LOOK_MAX_MS)) {
      const job = await api.jobs.get(id, { signal })
      onProgress?.(job)
      if (ENDED.has(job.status)) return job
      if (Date.now() > until) throw new Error(`job ${id} has not ended within ${timeoutMs / 1000} s; it goes on`)
      await pause(lookMs, signal ?? options.signal)
    }
  }
}
